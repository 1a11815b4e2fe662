import { help } from "./help";
import { instance } from "./instance";
import { instancespanel } from "./instancespanel";
import { kernels } from "./kernels";
import { pages } from "./pages";
import { topbar } from "./topbar";

export const en = {
  help,
  instance,
  instancespanel,
  kernels,
  pages,
  topbar,
};

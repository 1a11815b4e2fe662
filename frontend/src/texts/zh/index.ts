import { color } from "./color";
import { editor } from "./editor";
import { fetch } from "./fetch";
import { filter } from "./filter";
import { format } from "./format";
import { frame } from "./frame";
import { help } from "./help";
import { instance } from "./instance";
import { instancespanel } from "./instancespanel";
import { kernels } from "./kernels";
import { memory } from "./memory";
import { memorycategories } from "./memorycategories";
import { memorytables } from "./memorytables";
import { pages } from "./pages";
import { picture } from "./picture";
import { source } from "./source";
import { table } from "./table";
import { topbar } from "./topbar";
import { tracks } from "./tracks";
import { widgets } from "./widgets";

export const zh = {
  color,
  editor,
  fetch,
  filter,
  format,
  frame,
  help,
  instance,
  instancespanel,
  kernels,
  memory,
  memorycategories,
  memorytables,
  pages,
  picture,
  source,
  table,
  topbar,
  tracks,
  widgets,
};

import { help } from "./help";
import { topbar } from "./topbar";

export const zh = { help, topbar };

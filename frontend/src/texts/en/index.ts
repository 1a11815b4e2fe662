import { help } from "./help";
import { topbar } from "./topbar";

export const en = { help, topbar };

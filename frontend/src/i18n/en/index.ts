import { about } from "./about";
import { advice } from "./advice";
import { averages } from "./averages";
import { best } from "./best";
import { choices } from "./choices";
import { color } from "./color";
import { diff } from "./diff";
import { diffmemory } from "./diffmemory";
import { difftable } from "./difftable";
import { distributed } from "./distributed";
import { doubts } from "./doubts";
import { editor } from "./editor";
import { empty } from "./empty";
import { fetch } from "./fetch";
import { figures } from "./figures";
import { filter } from "./filter";
import { flame } from "./flame";
import { format } from "./format";
import { frame } from "./frame";
import { help } from "./help";
import { idle } from "./idle";
import { instance } from "./instance";
import { instancespanel } from "./instancespanel";
import { kernels } from "./kernels";
import { meanings } from "./meanings";
import { memory } from "./memory";
import { memorycategories } from "./memorycategories";
import { memorytables } from "./memorytables";
import { method } from "./method";
import { modules } from "./modules";
import { names } from "./names";
import { nodevice } from "./nodevice";
import { operators } from "./operators";
import { overview } from "./overview";
import { pages } from "./pages";
import { perfetto } from "./perfetto";
import { picture } from "./picture";
import { quality } from "./quality";
import { rankadvice } from "./rankadvice";
import { record } from "./record";
import { source } from "./source";
import { sourcelink } from "./sourcelink";
import { sql } from "./sql";
import { stackpanel } from "./stackpanel";
import { status } from "./status";
import { steplink } from "./steplink";
import { summary } from "./summary";
import { table } from "./table";
import { timeline } from "./timeline";
import { timelinedetails } from "./timelinedetails";
import { timelineexport } from "./timelineexport";
import { timelineheads } from "./timelineheads";
import { timelineranks } from "./timelineranks";
import { topbar } from "./topbar";
import { tracks } from "./tracks";
import { whatif } from "./whatif";
import { whatiftable } from "./whatiftable";
import { widgets } from "./widgets";

export const en = {
  about,
  advice,
  averages,
  best,
  choices,
  color,
  diff,
  diffmemory,
  difftable,
  distributed,
  doubts,
  editor,
  empty,
  fetch,
  figures,
  filter,
  flame,
  format,
  frame,
  help,
  idle,
  instance,
  instancespanel,
  kernels,
  meanings,
  memory,
  memorycategories,
  memorytables,
  method,
  modules,
  names,
  nodevice,
  operators,
  overview,
  pages,
  perfetto,
  picture,
  quality,
  rankadvice,
  record,
  source,
  sourcelink,
  sql,
  stackpanel,
  status,
  steplink,
  summary,
  table,
  timeline,
  timelinedetails,
  timelineexport,
  timelineheads,
  timelineranks,
  topbar,
  tracks,
  whatif,
  whatiftable,
  widgets,
};

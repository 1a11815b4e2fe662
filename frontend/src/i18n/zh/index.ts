import { about } from "./pages/about";
import { advice } from "./pages/advice";
import { averages } from "./averages";
import { best } from "./best";
import { choices } from "./choices";
import { color } from "./color";
import { diff } from "./diff";
import { diffmemory } from "./diffmemory";
import { difftable } from "./pages/diff";
import { distributed } from "./pages/distributed";
import { doubts } from "./doubts";
import { editor } from "./editor";
import { empty } from "./empty";
import { fetch } from "./server";
import { figures } from "./pages/overview";
import { filter } from "./lib";
import { flame } from "./pages/flame";
import { format } from "./format";
import { frame } from "./frame";
import { help } from "./app";
import { idle } from "./idle";
import { instance } from "./instance";
import { instancespanel } from "./instancespanel";
import { kernels } from "./pages/kernels";
import { meanings } from "./pages/sql";
import { memory } from "./memory";
import { memorycategories } from "./memorycategories";
import { memorytables } from "./pages/memory";
import { method } from "./pages/method";
import { modules } from "./pages/modules";
import { names } from "./names";
import { nodevice } from "./nodevice";
import { operators } from "./pages/operators";
import { overview } from "./overview";
import { pages } from "./pages";
import { perfetto } from "./perfetto";
import { picture } from "./picture";
import { quality } from "./pages/quality";
import { rankadvice } from "./rankadvice";
import { record } from "./record";
import { source } from "./pages/shared";
import { sourcelink } from "./sourcelink";
import { sql } from "./sql";
import { stackpanel } from "./stackpanel";
import { status } from "./status";
import { steplink } from "./steplink";
import { summary } from "./summary";
import { table } from "./table";
import { timeline } from "./pages/timeline";
import { timelinedetails } from "./timelinedetails";
import { timelineexport } from "./timelineexport";
import { timelineheads } from "./timelineheads";
import { timelineranks } from "./timelineranks";
import { topbar } from "./topbar";
import { tracks } from "./tracks";
import { whatif } from "./whatif";
import { whatiftable } from "./pages/whatif";
import { widgets } from "./widgets";

export const zh = {
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

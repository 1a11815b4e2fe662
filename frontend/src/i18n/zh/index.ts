// All Chinese texts of the first load in one object.
import * as app from "./app";
import * as lib from "./lib";
import * as recording from "./pages/recording";
import * as advice from "./pages/advice";
import * as counters from "./pages/counters";
import * as distributed from "./pages/distributed";
import * as flame from "./pages/flame";
import * as history from "./pages/history";
import * as inspector from "./pages/inspector";
import * as kernels from "./pages/kernels";
import * as memory from "./pages/memory";
import * as method from "./pages/method";
import * as modules from "./pages/modules";
import * as operators from "./pages/operators";
import * as overview from "./pages/overview";
import * as quality from "./pages/recording-quality";
import * as record from "./pages/record";
import * as runtime from "./pages/runtime";
import * as shared from "./pages/shared";
import * as sql from "./pages/sql";
import * as timeline from "./pages/timeline";
import * as timelineArea from "./pages/timeline-selection";
import * as whatif from "./pages/whatif";
import * as work from "./pages/work";
import * as server from "./server";
import * as widgets from "./widgets";

export const zh = {
  ...app,
  ...lib,
  ...recording,
  ...advice,
  ...counters,
  ...distributed,
  ...flame,
  ...history,
  ...inspector,
  ...kernels,
  ...memory,
  ...method,
  ...modules,
  ...operators,
  ...overview,
  ...quality,
  ...record,
  ...runtime,
  ...shared,
  ...sql,
  ...timeline,
  ...timelineArea,
  ...whatif,
  ...work,
  ...server,
  ...widgets,
};

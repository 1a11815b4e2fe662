// English texts of compilation, a section of the overview.
import { plural } from "../../count";

export const compilation = {
  title: "Compilation",
  note: (compilations: number, again: number, breaks: number) =>
    `${plural(compilations, "compilation", "compilations")}, ${again} of them again; ${plural(breaks, "graph break", "graph breaks")}`,
  time: (all: string, inside: string, inStep: boolean) =>
    `The compiler ran for ${all}, ${inside} of it in the ${inStep ? "chosen step" : "recording"}.`,
  failures: (count: number) =>
    `${plural(count, "compilation", "compilations")} gave no code: such a function runs without the compiler.`,
  caches: (hits: number, misses: number, bypasses: number) =>
    `Cache of graphs: ${plural(hits, "hit", "hits")}, ${plural(misses, "miss", "misses")}${bypasses ? `, ${bypasses} bypassed` : ""}.`,
  noLog:
    "Only the calls of compiled code are known. Set TORCH_TRACE to the folder of the recording: functions, reasons and times of the compiler come with its log.",
  phases: {
    phase: "Phase",
    time: { title: "Time", help: "Without the time of the next phase." },
    compilations: "Compilations",
    names: {
      dynamo: "Dynamo: traces Python, makes guards",
      aot: "AOTAutograd: graphs of both passes, or loading from the cache",
      inductor: "Inductor: lowers and schedules",
      codegen: "Kernels: writes and builds them",
    },
  },
  breaks: {
    title: (count: number) => plural(count, "graph break", "graph breaks"),
    place: "Where",
    function: "Function",
    reason: { title: "Reason", help: "Open one for torch's explanation and hints." },
    calls: { title: "Calls", help: "Calls of the broken code in the chosen step, or the whole recording." },
  },
  skips: (count: number) => `${plural(count, "graph runs", "graphs run")} without a CUDA graph`,
  code: { noun: "compilation", nouns: "compilations" },
  leftOut: (rows: number) => `${plural(rows, "more is", "more are")} not shown.`,
  backward: "backward",
  columns: {
    id: {
      title: "Id",
      help: "Number of the function's code, and of its compilation; ← is the backward pass.",
    },
    function: { title: "Function" },
    reason: {
      title: "Compiled again",
      help: "The guard that failed; the tooltip has those of earlier compilations.",
    },
    failure: { title: "Gave no code", help: "Why; the function then runs without the compiler." },
    total: { title: "Compile time" },
    inside: {
      title: "Inside",
      help: "The part of the compile time in the chosen step, or the whole recording.",
    },
    dynamo: { title: "Dynamo" },
    aot: { title: "AOT", help: "AOTAutograd, or loading from the cache." },
    inductor: { title: "Inductor" },
    codegen: { title: "Kernels" },
    cache: { title: "Cache", help: "Of its graph." },
    guards: { title: "Guards", help: "What each call checks." },
    operators: { title: "Operators", help: "Operators of the graph." },
    breaks: { title: "Breaks" },
    calls: { title: "Calls", help: "The link shows the first one in the timeline." },
    call: { title: "Call time", help: "Time of the calls on the host, without compiling." },
    outside: {
      title: "Outside graphs",
      help: "The part of the call time outside compiled graphs: wrappers, and Python behind a graph break.",
    },
  },
  cached: { hit: "hit", miss: "miss", bypass: "bypass" },
};

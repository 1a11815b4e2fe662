/** The page about a trace. */
export const about = {
  findings: "Findings",
  deviceTimes: "Device times",
  files: "Files",
  thisTrace: "This trace",
  recorded: "How it was recorded",
  device: "Device",
  run: "Run",
  rank: "Rank",
  rankFrom: (rank: number, source: string) => `${rank}, from ${source}`,
  rankSources: {
    metadata: "the trace's distributedInfo",
    name: "the file's name",
    order: "the order of the files, as nothing else is known",
  },
  span: "Span",
  size: "Size",
  written: "Written",
  elapsed: "Elapsed times",
  inSidecar: "in a sidecar file",
  noSidecar: "no sidecar file",
  engine: "Engine",
};

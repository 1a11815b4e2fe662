export const stackpanel = {
  label: (title: string) => `Call stack of ${title}`,
  toRecord: "Record of the longest call",
  toTimeline: "In the timeline",
  close: "Close",
};

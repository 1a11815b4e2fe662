/** Groups of tracks on the timeline. */
export const tracks = {
  counters: "Counters",
  pinned: "Pinned",
};

import type { tracks as english } from "../en/tracks";

export const tracks: typeof english = {
  counters: "计数器",
  pinned: "已置顶",
};

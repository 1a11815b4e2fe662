export const picture = {
  save: "Download the picture",
  noCanvas: "The browser has no canvas.",
};

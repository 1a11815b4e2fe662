/** The frame around the pages. */
export const frame = {
  brand: "PrivateUse1",
  title: "PrivateUse1 profiler",
  pages: "Pages",
  showNames: "Show names",
  iconsOnly: "Icons only",
};

export const steplink = {
  title: (name: string) => `${name}\nShow it in the timeline`,
};

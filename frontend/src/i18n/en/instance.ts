export const instance = {
  title: (name: string, thread: string, start: string) => `${name}\n${thread}\n${start} after the recording's start\nShow its record`,
  noName: "(no name)",
  /** Where it is, when it starts, and what is said about it, if anything is. */
  at: (thread: string, start: string, note: string | null) => `${thread}, at ${start}${note ? `, ${note}` : ""}`,
};

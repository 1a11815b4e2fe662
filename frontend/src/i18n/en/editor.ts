/** What is wrong with the template of an editor's links. */
export const editor = {
  noScheme: "It has to begin with the editor's name and a colon, such as vscode:",
  forbidden: (scheme: string) => `A browser does not give ${scheme}: to an editor.`,
  noPath: "It has no {path}.",
};

// What TensorBoard's iframe imports: `import("./static/index.js").then(m => m.render())`. This
// file keeps its name, so it holds nothing that browsers should keep for long.

/** Draws the dashboard; on failure says so, as nobody else would. */
export async function render(): Promise<void> {
  try {
    const { start } = await import("./app/app");
    start();
  } catch (error) {
    const hint = "Reload the page; TensorBoard may have been updated or stopped.";
    document.body.textContent = `The dashboard could not be loaded: ${String(error)}. ${hint}`;
    throw error;
  }
}

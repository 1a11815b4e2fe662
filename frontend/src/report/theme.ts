// Light or dark: the system's choice, until the reader makes another for this report.
import { signal } from "@preact/signals";

export type Theme = "light" | "dark";

const system = window.matchMedia("(prefers-color-scheme: dark)");
export const theme = signal<Theme>(system.matches ? "dark" : "light");
let chosen = false;

/** Shows the theme, now and whenever it changes; called once. */
export function connectTheme(): void {
  theme.subscribe((now) => {
    document.documentElement.dataset["theme"] = now;
  });
  system.addEventListener("change", () => {
    if (!chosen) theme.value = system.matches ? "dark" : "light";
  });
}

export function switchTheme(): void {
  chosen = true;
  theme.value = theme.value === "dark" ? "light" : "dark";
}

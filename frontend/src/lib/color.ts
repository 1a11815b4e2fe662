// One color per category, the same in every chart and table. The values are in theme.css, for
// light and dark; tests/color.test.ts checks their contrast.
import { t } from "../i18n";

export const CATEGORIES = [
  "kernel",
  "memcpy",
  "memset",
  "communication",
  "unknown",
  "runtime",
  "dataloader",
  "cpu",
  "other",
] as const;

export type Category = (typeof CATEGORIES)[number];

export const LABELS: Readonly<Record<Category, string>> = t.color;

/** How well something is known: solid, hatched, hollow. Of what is bounded only limits are known. */
export type Look = "measured" | "inferred" | "bounded";

/** The look of an activity of this evidence. */
export function lookOf(evidence: string): Look {
  return evidence === "measured" ? "measured" : evidence === "bound" ? "bounded" : "inferred";
}

/** What runs on the device, and so is inferred where the timeline is. */
export const DEVICE: ReadonlySet<Category> = new Set([
  "kernel",
  "memcpy",
  "memset",
  "communication",
  "unknown",
]);

/** The CSS color of a category. */
export function color(category: Category): string {
  return `var(--${category})`;
}

/** The category of a `kind` in a result; a word that is not known counts as a kernel. */
export function categoryOf(kind: string): Category {
  return (CATEGORIES as readonly string[]).includes(kind) ? (kind as Category) : "kernel";
}

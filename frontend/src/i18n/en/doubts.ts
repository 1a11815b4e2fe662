import type { Finding } from "../../api/types";
import { plural } from "../count";

const severities: Record<Finding["severity"], string> = { error: "Error", warning: "Warning", info: "Note" };

/** Findings about the data, in short. */
export const doubts = {
  severities,
  /** `1 error, 2 warnings`; notes only where there is nothing worse. */
  summary: (errors: number, warnings: number, notes: number) =>
    [errors && plural(errors, "error"), warnings && plural(warnings, "warning")].filter(Boolean).join(", ") || (notes > 0 ? plural(notes, "note") : "no findings"),
  more: (n: number) => ` And ${n} more.`,
  quality: "Quality",
};

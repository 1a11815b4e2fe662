// What this server can do beside showing traces, as of its last answer.
import { signal } from "@preact/signals";
import type { Extras } from "../api/types";

/** Null until the server was asked. */
export const extras = signal<Extras | null>(null);

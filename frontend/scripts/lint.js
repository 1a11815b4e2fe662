// Prints what breaks a rule of this code (scripts/lint), and fails if anything does. `npm run lint`
import { runnerImport } from "vite";

const OPTIONS = { oxc: { jsx: { runtime: "automatic", importSource: "preact" } }, logLevel: "error" };
const { violations } = (await runnerImport("./scripts/lint/index.ts", OPTIONS)).module;
const found = violations();
for (const one of found) console.error(one);
process.exit(found.length ? 1 : 0);

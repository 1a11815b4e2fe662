// Lists the texts that a translation lacks; the pages show them in English. `npm run i18n`
import { runnerImport } from "vite";

const OPTIONS = { oxc: { jsx: { runtime: "automatic", importSource: "preact" } }, logLevel: "error" };
const load = async (file) => (await runnerImport(`./src/i18n/${file}`, OPTIONS)).module;

const { missingTexts } = await load("translation.ts");
const all = async (language) => ({
  ...(await load(`${language}/index.ts`))[language],
  ...(await load(`${language}/loaded-later.ts`)).loadedLater,
});

const missing = missingTexts(await all("en"), await all("zh"));
console.log(`zh: ${missing.length} texts are missing and shown in English`);
for (const path of missing) console.log(`  ${path}`);

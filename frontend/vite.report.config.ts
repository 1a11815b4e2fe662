import { defineConfig } from "vite";
import pages from "./vite.config.ts";

// The script and the style of reports: one file each, which `tb_privateuse1.export.reports.html`
// puts into a document. Nothing is loaded, so nothing is split.
export default defineConfig({
  ...pages,
  build: {
    ...pages.build,
    outDir: "../tb_privateuse1/export/reports/html/bundle",
    cssCodeSplit: false,
    license: false,
    rolldownOptions: {
      ...pages.build?.rolldownOptions,
      input: { report: "src/report/index.tsx" },
      output: {
        entryFileNames: "[name].js",
        assetFileNames: "[name][extname]",
        codeSplitting: false,
      },
    },
  },
});

import { defineConfig } from "vite";

// TensorBoard imports ./static/index.js by that name and calls its render(). Everything else
// carries a hash in its name, so that the server may let browsers keep it. All URLs are
// relative: TensorBoard may live below a --path_prefix.
export default defineConfig({
  base: "./",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../tb_privateuse1/server/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: true,
    license: { fileName: "assets/licenses.md" },
    rolldownOptions: {
      input: { index: "src/index.ts" },
      preserveEntrySignatures: "strict",
      // A warning of the clock: it comes and goes with the machine's load, and warnings end the build.
      checks: { bundlerTimings: false },
      output: {
        entryFileNames: "[name].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
        codeSplitting: {
          groups: [
            // Translations import these. They must not import what waits for a translation.
            { name: "base", test: /node_modules|src\/(i18n\/(count|han)|preference)/, priority: 1 },
            // One file: rules of one weight count in the order of imports, whichever page comes first.
            { name: "styles", test: /\.css$/, priority: 2 },
            // What several pages share is one file: by default it is thirty of a kilobyte each.
            {
              name: "shared",
              test: /src\/((lib|api|state|widgets)\/|pages\/shared\/(?!inspector))/,
              minShareCount: 3,
            },
            // Comes with the first page that selects something: the first page does without.
            { name: "inspector", test: /src\/pages\/shared\/inspector\//, minShareCount: 2 },
          ],
        },
      },
      onLog(level, log) {
        if (level === "warn") throw new Error(`the build warns: ${log.message}`);
      },
    },
  },
});

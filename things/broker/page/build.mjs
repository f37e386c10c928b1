// Makes page/dist from page/src. With --check it writes nothing, and fails if dist is not what the sources give.

import { readFile, writeFile, mkdir } from "node:fs/promises";
import { build } from "esbuild";

const check = process.argv.includes("--check");
const here = (path) => new URL(path, import.meta.url);

const bundled = await build({
  absWorkingDir: here(".").pathname,
  entryPoints: { page: "src/page.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022", "chrome100", "firefox104", "safari15.4"],
  charset: "utf8",
  legalComments: "none",
  write: false,
});
const style = await build({
  absWorkingDir: here(".").pathname,
  entryPoints: { page: "src/page.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  target: ["chrome100", "firefox104", "safari15.4"],
  charset: "utf8",
  legalComments: "none",
  write: false,
});
const licence = await readFile(here("node_modules/uplot/LICENSE"), "utf8");
const { version } = JSON.parse(await readFile(here("node_modules/uplot/package.json"), "utf8"));
const files = {
  "index.html": await readFile(here("src/index.html"), "utf8"),
  "icon.svg": await readFile(here("src/icon.svg"), "utf8"),
  "page.js": bundled.outputFiles[0].text,
  "page.css": style.outputFiles[0].text,
  "licences.txt": `This page is part of motemix: Apache-2.0 or MIT.\n\nIt contains uPlot ${version}:\n\n${licence.trim()}\n`,
};

await mkdir(here("dist"), { recursive: true });
let stale = 0;
for (const [name, made] of Object.entries(files)) {
  const path = here(`dist/${name}`);
  const there = await readFile(path, "utf8").catch(() => null);
  if (there === made) continue;
  if (check) console.error(`page/dist/${name} is not what page/src gives; run scripts/page/build`);
  else await writeFile(path, made);
  stale += 1;
}
if (check && stale > 0) process.exit(1);

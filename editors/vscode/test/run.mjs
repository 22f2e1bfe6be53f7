/** Bundles each test with the stand-in for `vscode`, and runs them: node test/run.mjs [end of a file's name ...] */

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = join(here, "..", "dist", "test");
const wanted = process.argv.slice(2);
const tests = readdirSync(here)
  .filter((name) => name.endsWith(".test.ts") && (!wanted.length || wanted.some((each) => name.includes(each))))
  .map((name) => join(here, name));
await build({
  entryPoints: tests,
  outdir,
  outExtension: { ".js": ".cjs" },
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  sourcemap: "inline",
  alias: { vscode: join(here, "vscode.ts") },
  logLevel: "warning",
});
const built = tests.map((path) => join(outdir, path.slice(here.length + 1).replace(/\.ts$/, ".cjs")));
const done = spawnSync(process.execPath, ["--test", ...built], { stdio: "inherit" });
process.exit(done.status ?? 1);

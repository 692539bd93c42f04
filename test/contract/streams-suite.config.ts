import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

const names = JSON.parse(
  readFileSync(new URL("streams-read-side.json", import.meta.url), "utf8"),
) as string[];
const left = process.env.CONFORMANCE_LEFT_OUT;
const run = names.filter((name) => left === undefined || !name.startsWith(left));
const patterns = run.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));

export default defineConfig({
  resolve: { dedupe: ["vitest"] },
  test: {
    include: ["test/contract/streams-suite.ts"],
    testNamePattern: new RegExp(`^(?:${patterns.join("|")})$`),
    testTimeout: 90_000,
    // The suite brings its own vitest. It must register its tests with the running one.
    server: { deps: { inline: [/server-conformance-tests/] } },
  },
});

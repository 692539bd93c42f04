import { defineConfig } from "vitest/config";

const names = JSON.parse(process.env.CONFORMANCE_TESTS ?? "[]") as string[];
const patterns = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));

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

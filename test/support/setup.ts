// Import this before any zod schema is created, because it adds the method `.openapi()` to schemas. Hosts import it
// first too.
import "@hono/zod-openapi";
import { afterAll, expect } from "vitest";
import { measureFile } from "./costs.ts";
import { restoreGlobals } from "./globals.ts";
import { leavePlatforms } from "./platform.ts";

// This file runs before each test file, also where files share a worker and its modules. Hooks of `afterAll` run in
// the reverse order, so these are the last of the file.
if (process.env.TEST_COSTS !== undefined) {
  const end = measureFile(process.env.TEST_COSTS);
  afterAll(() => end(expect.getState().testPath ?? ""));
}
afterAll(leavePlatforms);
restoreGlobals();

// Import this before any zod schema is created, because it adds the method `.openapi()` to schemas. Hosts import it
// first too.
import "@hono/zod-openapi";
import { afterAll } from "vitest";
import { restoreGlobals } from "./globals.ts";
import { stopShared } from "./platform.ts";

// This file runs before each test file, also where files share a worker and its modules. Hooks of `afterAll` run in
// the reverse order, so this one is the last of the file.
afterAll(stopShared);
restoreGlobals();

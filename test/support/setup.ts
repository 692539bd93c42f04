// Import this before any zod schema is created, because it adds the method `.openapi()` to schemas. Hosts import it
// first too.
import "@hono/zod-openapi";
import { afterAll } from "vitest";
import { endFile } from "./file-end.ts";

// Vitest runs no hooks of a file that fails to load, so first end what such a file has started in this process.
await endFile();
// Vitest runs this file again for each test file. Hooks that are registered first run last.
afterAll(endFile);

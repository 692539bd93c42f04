// Import this before any zod schema is created, because it adds the method `.openapi()` to schemas. Hosts import it
// first too.
import "@hono/zod-openapi";

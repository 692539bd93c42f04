// This import must come before any schema is created, because it adds `.openapi()` to them. Hosts import it first too.
import "@hono/zod-openapi";

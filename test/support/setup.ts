// Schemas can be described only if they are made after this was loaded; hosts load it first too.
import "@hono/zod-openapi";

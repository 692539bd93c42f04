// Schemas can be described only if they are made after this was loaded; hosts load it first too.
import "@hono/zod-openapi";
import { afterAll } from "vitest";
import { stopSharedPlatform } from "./platform.ts";

afterAll(stopSharedPlatform);

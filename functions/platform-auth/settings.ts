import { z } from "@hono/zod-openapi";
import { changePlatformSettings, readPlatformSettings } from "../../shared/access/settings.ts";
import { defineRoute, newRouter } from "../http/router.ts";
import { json, jsonRequest } from "../http/schemas.ts";
import { realmRoute, rightsRoute, type Scope } from "../realm/scope.ts";

const SharedSchema = z.strictObject({
  signup: z.enum(["invitation", "open"]).openapi({
    description: "open: everyone can register an account in the shared realm, with the role user",
  }),
});
const ChangeSchema = z.strictObject({ shared: SharedSchema });
const SettingsSchema = ChangeSchema.extend({
  updatedAt: z.iso.datetime().nullable().openapi({ description: "null until the first change" }),
  updatedBy: z.string().nullable().openapi({ description: "Id of the platform admin" }),
}).openapi("PlatformSettings");

export function settingsRoutes(scope: Scope) {
  const read = defineRoute({
    ...realmRoute(scope, "settings.read"),
    method: "get",
    path: "/api/_auth/settings",
    operationId: "getPlatformSettings",
    summary: "Get the settings of the platform",
    responses: { 200: json("The settings", SettingsSchema) },
    problems: [401, 403],
  });
  const change = defineRoute({
    ...rightsRoute(scope, "settings.write"),
    method: "put",
    path: "/api/_auth/settings",
    operationId: "putPlatformSettings",
    summary: "Change the settings of the platform",
    description: "A change applies at once, also to registrations that have begun.",
    request: { body: jsonRequest(ChangeSchema) },
    responses: { 200: json("The settings", SettingsSchema) },
    problems: [401, 403],
  });
  return newRouter()
    .openapi(read, async (c) => c.json(await readPlatformSettings(c.var.deps, c.var.actor), 200))
    .openapi(change, async (c) =>
      c.json(await changePlatformSettings(c.var.deps, c.var.actor, c.req.valid("json")), 200),
    );
}

import { type LocalCall, type LocalHandler, schemaOf, TARGET_INPUT } from "../../handlers/contract/index.ts";
import { getSettings, type SettingsTarget, setSettings } from "./settings.ts";

const SCOPE = {
  enum: ["user", "application"],
  description:
    "user (default): the caller's own settings; application: the settings of the whole orb, for admins.",
} as const;

const VIEW = {
  type: "object",
  required: ["module", "schema", "scope", "values", "revision", "updatedAt"],
  properties: {
    module: { type: "string" },
    schema: { type: "string" },
    scope: { enum: ["user", "application"] },
    values: {
      type: "object",
      description: "The set values, and the schema's defaults for all other fields.",
    },
    revision: { type: "integer", description: "0 if nothing was set yet." },
    updatedAt: { type: ["string", "null"] },
  },
} as const;

function targetOf({ live, input }: LocalCall): SettingsTarget {
  const scope = input.scope === "application" ? "application" : "user";
  return { live, schema: schemaOf(live, "SETTINGS", input), scope };
}

export const settingsGet: LocalHandler = {
  kind: "local",
  name: "settings.get",
  act: "settings:read",
  description:
    "Returns the caller's settings, with the schema's defaults. Admins can also read the application's settings.",
  auth: "AuthRequired",
  input: {
    type: "object",
    additionalProperties: false,
    properties: { ...TARGET_INPUT, scope: SCOPE },
  },
  output: VIEW,
  run: (call) => getSettings(call.deps, call.principal, targetOf(call)),
};

export const settingsSet: LocalHandler = {
  kind: "local",
  name: "settings.set",
  act: "settings:write",
  description: "Sets the given fields and keeps the others. null resets a field to its default.",
  auth: "AuthRequired",
  input: {
    type: "object",
    required: ["values"],
    additionalProperties: false,
    properties: {
      ...TARGET_INPUT,
      scope: SCOPE,
      values: { type: "object", description: "The fields to set." },
    },
  },
  output: VIEW,
  run: (call) =>
    setSettings(
      call.deps,
      call.principal,
      targetOf(call),
      call.input.values as Readonly<Record<string, unknown>>,
    ),
};

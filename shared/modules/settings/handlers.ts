/** The built-in handlers of settings. */
import { schemaOf, TARGET_INPUT } from "../../handlers/contract/target.ts";
import type { LocalCall, LocalHandler } from "../../handlers/contract/types.ts";
import { getSettings, type SettingsTarget, setSettings } from "./settings.ts";

const SCOPE = {
  enum: ["user", "application"],
  description: "user (default): the caller's own; application: those of the whole orb, for admins.",
} as const;

const VIEW = {
  type: "object",
  required: ["module", "schema", "scope", "values", "revision", "updatedAt"],
  properties: {
    module: { type: "string" },
    schema: { type: "string" },
    scope: { enum: ["user", "application"] },
    values: { type: "object", description: "What was set; the schema's defaults for the rest." },
    revision: { type: "integer", description: "0 until something was set." },
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
  description: "The caller's settings with the schema's defaults; for admins also the application's.",
  auth: "AuthRequired",
  input: {
    type: "object",
    additionalProperties: false,
    properties: { ...TARGET_INPUT, scope: SCOPE },
  },
  output: VIEW,
  run: (call) => getSettings(call.deps, call, targetOf(call)),
};

export const settingsSet: LocalHandler = {
  kind: "local",
  name: "settings.set",
  description: "Sets the given fields and leaves the others; null brings one back to its default.",
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
    setSettings(call.deps, call, targetOf(call), call.input.values as Readonly<Record<string, unknown>>),
};

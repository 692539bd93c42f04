/** Handlers that the platform brings. */

import { rulesEvaluate } from "../rules/evaluate.ts";
import { HTTP_HANDLERS } from "./http.ts";
import type { Handler } from "./types.ts";

/** Every built-in handler, by service and name. */
export const BUILT_IN: readonly Handler[] = [...HTTP_HANDLERS, rulesEvaluate];

/** Services that are the platform's own: no entry of the registry can take them over. */
export const OWN_SERVICES: ReadonlySet<string> = new Set([
  ...BUILT_IN.map(({ name }) => name.split(".")[0] ?? ""),
  "rules",
  "transactions",
  "settings",
]);

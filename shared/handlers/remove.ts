import type { Actor } from "../access/actor.ts";
import { audit } from "../access/audit.ts";
import { requireOperator } from "../access/authorize.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { buckets } from "../store/subjects.ts";
import type { HandlerDeps } from "./contract/index.ts";

/**
 * Valid keys of the bucket. A key with a wildcard would delete other keys too. The broker closes the connection if a
 * subject has more than 4,096 bytes.
 */
const KEY = /^(?=.{1,1000}$)[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$/;

/**
 * Deletes a registration, even an invalid one. If the service registers again at the same time, the later write wins.
 */
export async function removeHandler(deps: HandlerDeps, actor: Actor, name: string): Promise<void> {
  requireOperator(actor, "registry.write");
  if (deps.builtIn.some((handler) => handler.name === name)) {
    throw new AppError(
      "conflict",
      "handler_built_in",
      "This handler is part of the platform and cannot be removed. Remove it from uses in the orbs' documents instead.",
    );
  }
  const known = KEY.test(name) ? await deps.store.kvGet(buckets.handlers, name) : null;
  if (known === null) throw notFound("handler", "No handler of this name is registered.");
  await deps.store.kvDelete(buckets.handlers, name);
  await audit(deps, { realm: "platform", action: "handler", actor, target: name, detail: "removed" });
}

/** Whether the handlers that a document uses are registered. */
import type { Deps } from "../deps.ts";
import { type Fault, invalid } from "../errors.ts";
import { buckets } from "../store/subjects.ts";
import type { OrbDocument } from "./document.ts";

/** Handlers that the platform itself serves. */
const BUILT_IN: ReadonlySet<string> = new Set([
  "access.passkey",
  "access.invitations",
  "access.bootstrap",
  "rules.evaluate",
  "transactions.record",
  "transactions.list",
  "settings.get",
  "settings.set",
]);

/** @throws AppError invalid `unknown_handler`, naming each that is not registered */
export async function requireHandlers(deps: Deps, document: OrbDocument): Promise<void> {
  const wanted = document.uses.flatMap((use, index) =>
    use.handlers.map((handler, place) => ({
      name: `${use.service}.${handler}`,
      path: `/uses/${index}/handlers/${place}`,
    })),
  );
  const remote = wanted.filter(({ name }) => !BUILT_IN.has(name));
  if (remote.length === 0) return;
  const found = await Promise.all(remote.map(({ name }) => deps.store.kvGet(buckets.handlers, name)));
  const faults: Fault[] = remote
    .filter((_, index) => found[index] === null)
    .map(({ name, path }) => ({
      path,
      code: "unknown_handler",
      message: `No handler ${name} is registered.`,
    }));
  if (faults.length > 0)
    throw invalid(
      faults,
      `Not registered: ${remote
        .filter((_, index) => found[index] === null)
        .map(({ name }) => name)
        .join(", ")}.`,
    );
}

/** What splits and joins share: work on all entries of a schema while a definition is published. */
import type { Step } from "../../definition/changes.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Home } from "../../store/subjects.ts";
import { entriesSince } from "../index/index.ts";
import { type OrbContext, type StoredEntry, schemaOf } from "../model/index.ts";

/** A step, and the definitions before and after it. */
export interface StepOf {
  step: Step;
  /** The schema that has the field. */
  home: Home;
  from: OrbContext;
  to: OrbContext;
}

/** The schemas that take part. */
export interface Schemas {
  before: CompiledSchema;
  after: CompiledSchema;
  /** The schema of the entries beside them. */
  target: CompiledSchema;
}

/** @param holder the definition that has the target of the step */
export function schemasOf({ from, to, home, step }: StepOf, holder: OrbContext): Schemas {
  const [before, after] = [schemaOf(from.compiled, home), schemaOf(to.compiled, home)];
  const target = schemaOf(holder.compiled, step.target);
  if (before !== undefined && after !== undefined && target !== undefined) return { before, after, target };
  throw new AppError("internal", "internal_error", `The schemas of a ${step.kind} are missing.`);
}

/**
 * Yields entries that were written after a sequence number, each once in a page, also those that were deleted.
 * @param onPurged called with the id of each purged entry that left its mark
 */
export async function* changedEntries(
  deps: Deps,
  orb: string,
  home: Home,
  since: number,
  onPurged?: (id: string) => void,
): AsyncGenerator<StoredEntry[]> {
  for await (const page of entriesSince(deps, orb, home, since, {
    deleted: true,
    ...(onPurged && { onPurged }),
  }))
    yield [...new Map(page.map((entry) => [entry.head.id, entry])).values()];
}

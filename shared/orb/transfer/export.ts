/**
 * Exports an application as JSON Lines: its definition, its entries, and a last line that shows that the file is
 * complete. Sensitive values stay encrypted.
 */

import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import { homeKey, homeOf, type OrbDocument, type Status } from "../../definition/document/index.ts";
import type { Retired } from "../../definition/retired.ts";
import {
  compileStored,
  definitionFor,
  type ExistingOrb,
  entryDefinitionOf,
  findRevision,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { publishedOf, scanEntries } from "../../entry/index/index.ts";
import { type EntrySnapshot, namedEntry, reboundValues, schemaOf } from "../../entry/model/index.ts";
import { type ContentLine, type FileLine, fileLines, unusedFileLines } from "../../files/transfer.ts";
import { equal } from "../../kernel/json.ts";
import { readOrb } from "../change.ts";

export interface OrbLine {
  kind: "orb";
  v: 1;
  /** The newest definition. */
  document: OrbDocument;
  status: Status;
  revision: number;
  publishedRevision: number | null;
  /** The definition that the entries follow, usually the published one. Null if `document` is this definition. */
  published: OrbDocument | null;
  /** Removed fields for which entries still have values. */
  retired?: Retired[];
  exportedAt: string;
}

export interface EntryLine {
  kind: "entry";
  head: ExportedEntry;
  /** The published revision of the entry, if it is not the newest one. */
  published: ExportedEntry | null;
}

export interface EndLine {
  kind: "end";
  entries: number;
}

/** One line of an export. The lines of a file come before the first entry that refers to the file. */
export type ExportLine = OrbLine | FileLine | ContentLine | EntryLine | EndLine;

/** An entry without the properties that have a meaning only in its own stream, such as sequence numbers. */
export type ExportedEntry = Omit<
  EntrySnapshot,
  "claims" | "liveClaims" | "publishedSeq" | "defRevision" | "updated"
>;

/**
 * Returns the lines of an export. Checks the caller's rights and other conditions before it yields the first line.
 */
export async function exportOrb(
  deps: Deps,
  actor: Actor,
  input: { orb: string },
): Promise<AsyncGenerator<ExportLine>> {
  requireOperator(actor, "entries.export", input.orb);
  const head = await readOrb(deps, input.orb);
  // A response has no other status once its lines have begun, so find out first whether the definition can be used.
  await definitionFor(deps, input.orb);
  await audit(deps, { realm: "platform", action: "orb", actor, target: input.orb, detail: "export" });
  return lines(deps, input.orb, head);
}

async function* lines(deps: Deps, orb: string, head: ExistingOrb): AsyncGenerator<ExportLine> {
  const { document, status, revision, publishedRevision } = head;
  const live = publishedRevision === null ? null : await findRevision(deps, orb, head, publishedRevision);
  const basis = live ?? (await entryDefinitionOf(deps, orb, head));
  const compiled = compileStored(orb, basis.document ?? document, head.names);
  const retired = exportedRetired(compiled, head.retired ?? []);
  yield {
    kind: "orb",
    v: 1,
    document,
    status,
    revision,
    publishedRevision,
    published: equal(basis.document, document) ? null : basis.document,
    ...(retired.length === 0 ? {} : { retired }),
    exportedAt: new Date(deps.clock.now()).toISOString(),
  };
  let entries = 0;
  const files = new Set<string>();
  for await (const page of scanEntries(deps, orb)) {
    for (const stored of page) {
      // Skip entries of a schema that was removed with `force=true` although it had entries.
      const schema = schemaOf(compiled, stored.address);
      if (schema === undefined) continue;
      const entry = namedEntry(compiled, stored);
      const published = entry.head.publishedSeq === null ? null : await publishedOf(deps, schema, entry);
      const values = [entry.head.values, ...(published === null ? [] : [published.values])];
      yield* fileLines(deps, orb, schema, values, files);
      entries++;
      yield {
        kind: "entry",
        head: await exported(deps, entry.head, schema),
        published: published === null ? null : await exported(deps, published, schema),
      };
    }
  }
  yield* unusedFileLines(deps, compiled, files);
  yield { kind: "end", entries };
}

/**
 * Returns the removed fields for which exported entries have values. An export has the names of the document. So values
 * inside objects are left out if names in the application's stored data differ.
 */
function exportedRetired(compiled: CompiledOrb, retired: readonly Retired[]): Retired[] {
  return retired.flatMap((one): Retired[] => {
    if (one.whole) return [];
    const schema = compiled.byHome.get(homeKey(homeOf(one.moduleType, one.schema)));
    if (schema?.renamed !== true) return [one];
    const fields = one.fields.filter(({ name }) => !name.includes(".") && !schema.fields.has(name));
    return fields.length === 0 ? [] : [{ ...one, module: schema.module, schema: schema.id, fields }];
  });
}

async function exported(
  deps: Pick<Deps, "config">,
  snapshot: EntrySnapshot,
  schema: CompiledSchema,
): Promise<ExportedEntry> {
  const { claims: _c, liveClaims: _l, publishedSeq: _s, defRevision: _d, updated: _u, ...others } = snapshot;
  // An export contains neither change sets nor API tokens.
  const { change: _change, token: _token, ...rest } = others;
  const values = schema.renamed ? await reboundValues(deps.config, schema, snapshot) : snapshot.values;
  return { ...rest, values, schema: schema.id };
}

/**
 * Exports an application as JSON Lines: its definition, its entries, and a last line that shows that the file is
 * complete. Sensitive values stay encrypted.
 */
import type { Actor } from "../../access/actor.ts";
import { audit } from "../../access/audit.ts";
import { requireOperator } from "../../access/authorize.ts";
import { type CompiledSchema, compileOrb } from "../../definition/compile.ts";
import type { OrbDocument } from "../../definition/document/document.ts";
import type { Status } from "../../definition/document/lifecycle.ts";
import type { Retired } from "../../definition/retired.ts";
import { type ExistingOrb, entryDefinitionOf, findRevision } from "../../definition/stored/history.ts";
import type { Deps } from "../../deps.ts";
import { publishedOf } from "../../entry/index/entry-keys.ts";
import { scanEntries } from "../../entry/index/scan-entries.ts";
import { schemaOf } from "../../entry/model/resolve.ts";
import type { EntrySnapshot } from "../../entry/model/snapshot.ts";
import { type ContentLine, type FileLine, fileLines } from "../../files/transfer.ts";
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
  await audit(deps, { realm: "platform", action: "orb", actor, target: input.orb, detail: "export" });
  return lines(deps, input.orb, head);
}

async function* lines(deps: Deps, orb: string, head: ExistingOrb): AsyncGenerator<ExportLine> {
  const { document, status, revision, publishedRevision } = head;
  const live = publishedRevision === null ? null : await findRevision(deps, orb, head, publishedRevision);
  const basis = live ?? (await entryDefinitionOf(deps, orb, head));
  const compiled = compileOrb(basis.document ?? document);
  const retired = head.retired?.filter(({ whole }) => !whole) ?? [];
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
    for (const entry of page) {
      // Skip entries of a schema that was removed with `force=true` although it had entries.
      const schema = schemaOf(compiled, entry.address);
      if (schema === undefined) continue;
      const published = entry.head.publishedSeq === null ? null : await publishedOf(deps, entry);
      const values = [entry.head.values, ...(published === null ? [] : [published.values])];
      yield* fileLines(deps, orb, schema, values, files);
      entries++;
      yield {
        kind: "entry",
        head: exported(entry.head, schema),
        published: published === null ? null : exported(published, schema),
      };
    }
  }
  yield { kind: "end", entries };
}

function exported(snapshot: EntrySnapshot, { id: schema }: CompiledSchema): ExportedEntry {
  const { claims: _c, liveClaims: _l, publishedSeq: _s, defRevision: _d, updated: _u, ...rest } = snapshot;
  return { ...rest, schema };
}

/** Writes the entries of another system into the orb: first their files, then the rows. */
import { createHash } from "node:crypto";
import { CommandError, type Context, manage } from "../command/context.ts";
import { bar } from "../command/progress.ts";
import { RowFiles } from "../entries/files/row-files.ts";
import { type Refused, type Uploaded, uploadRows } from "../entries/upload.ts";
import type { Fitted } from "./fit.ts";
import { entryLabel, type Loss, MODULE, SOURCE_ID, type Source } from "./model/source.ts";
import { resolvedFields } from "./model/values.ts";
import { type Form, keyOf, type RowContext, rowOf } from "./rows.ts";

export interface WriteInput {
  orb: string;
  source: Source;
  fitted: Fitted;
  /** Ids of the schemas in the order in which they are written. */
  order: readonly string[];
  folder: string | undefined;
  /** Whether addresses of files may lead to the local machine. */
  loopback: boolean;
}

export interface Written {
  /** What was known when the last rows were made, so that they can be made again for the comparison. */
  context: RowContext;
  /** Entries that are not stored. */
  losses: Loss[];
  created: number;
  updated: number;
  /** Hash of the content of each file, by its name in rows. */
  contentOf(named: string): string | undefined;
}

/**
 * A pass over the entries. `all`: a check of what readers may see. `first`: creates the entries in their order. `live`:
 * adds references to later entries. `draft`: adds newer drafts.
 */
type Pass = "all" | "first" | "live" | "draft";

const NONE = { schema: "", id: "" };
/** Values that the platform refuses are left out, and the entries are checked again, this many times. */
const ROUNDS = 5;

/** Uploads files, and writes all entries. Call it again after an interruption: nothing is written twice. */
export async function writeEntries(context: Context, input: WriteInput): Promise<Written> {
  return new Writer(context, input).write();
}

class Writer {
  readonly #context: Context;
  readonly #input: WriteInput;
  readonly #noFiles = new Map<string, string>();
  readonly #refused = new Map<string, Map<string, string>>();
  readonly #files: RowFiles[] = [];
  readonly #rows: RowContext;
  /** The entries of the rows that were sent last, in their order. */
  #sent: { schema: string; id: string }[] = [];
  /** Published entries that get a newer draft. */
  readonly #held = new Set<string>();
  /** Entries that refer to entries of later rows, or to themselves. */
  readonly #late = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #lostKeys = new Set<string>();
  /** Entries that have this newer draft already. */
  readonly #begun = new Set<string>();
  /** Entries that cannot be stored. */
  readonly #lost: Loss[] = [];

  constructor(context: Context, input: WriteInput) {
    this.#context = context;
    this.#input = input;
    const { orb, fitted, folder } = input;
    this.#rows = {
      orb,
      fitted,
      folder,
      noFiles: this.#noFiles,
      refused: this.#refused,
      lost: this.#lostKeys,
    };
  }

  async write(): Promise<Written> {
    for (const schema of this.#input.order) await this.#uploadFiles(schema);
    await this.#findBegun();
    await this.#check();
    const shown = bar(this.#context, "entries", this.#total);
    const first = await this.#send("each", "first", (count) => shown.at(count));
    shown.end();
    this.#lose(first.refused, "left out");
    for (const { line } of first.refused) this.#lostKeys.add(keyOf(this.#sent[line - 1] ?? NONE));
    let updated = first.updated;
    if (this.#late.size > 0) {
      const late = await this.#send("each", "live");
      this.#lose(late.refused, "an entry without the fields that refer to later entries");
      updated += late.updated;
    }
    if (this.#held.size > 0) {
      const drafts = await this.#send("each", "draft");
      this.#lose(drafts.refused, "what is published, without the newer draft");
      updated += drafts.updated;
    }
    return {
      ...{ context: this.#rows, losses: this.#lost, created: first.created, updated },
      contentOf: (named) =>
        this.#files.map((files) => files.contentOf(named)).find((one) => one !== undefined),
    };
  }

  #lose(refused: readonly Refused[], became: string): void {
    for (const { line, reason } of refused) {
      const entry = this.#sent[line - 1] ?? NONE;
      this.#lost.push({
        ...{ kind: "entry", at: entryLabel(entry), became },
        why: `the platform refuses it: ${reason}`,
      });
    }
  }

  async #uploadFiles(schema: string): Promise<void> {
    const { orb, source, fitted, folder, loopback } = this.#input;
    const { components } = source.document;
    const fields = resolvedFields(fitted.schemas.find(({ id }) => id === schema)?.fields ?? [], components);
    const name = createHash("sha256")
      .update(JSON.stringify([this.#context.url, orb, "migrate"]))
      .digest("hex");
    const files = new RowFiles(this.#context, {
      ...{ orb, fields, folder, loopback, partly: true, credentials: source.credentials },
      import: `migrate-${name.slice(0, 40)}`,
    });
    this.#files.push(files);
    for await (const entry of source.entries(schema)) {
      const { row, isHeld } = rowOf(this.#rows, entry, 1);
      files.note(row);
      if (rowOf(this.#rows, entry, 1, "first", (key) => this.#seen.has(key)).isLate)
        this.#late.add(keyOf(entry));
      this.#seen.add(keyOf(entry));
      if (!isHeld) continue;
      this.#held.add(keyOf(entry));
      files.note(rowOf(this.#rows, entry, 1, "draft").row);
    }
    for (const { named, reason } of await files.upload())
      this.#noFiles.set(named, reason.replace(/^.*?, which /, "the file "));
  }

  /** Finds which of the entries that get a newer draft have it: what is published of them is complete. */
  async #findBegun(): Promise<void> {
    const path = `/api/admin/orbs/${encodeURIComponent(this.#input.orb)}/entries`;
    for (const key of this.#held) {
      const [schema = "", id = ""] = key.split("\n");
      const query = { module: MODULE, schema, [`filter[${SOURCE_ID}]`]: id, limit: "1" };
      const { items } = await manage<{ items: { revision: number; publishedRevision: number | null }[] }>(
        this.#context,
        "GET",
        path,
        { query },
      );
      if (items.some(({ revision, publishedRevision }) => revision > (publishedRevision ?? revision)))
        this.#begun.add(key);
    }
  }

  /** Lets the platform check all rows, until it refuses none of the values that are left. */
  async #check(): Promise<void> {
    for (let round = 1; round <= ROUNDS; round++) {
      const shown = bar(this.#context, "entries checked", this.#total);
      const { refused } = await this.#send("check", "all", (count) => shown.at(count));
      shown.end();
      if (!this.#leaveOut(refused, round)) return;
    }
  }

  get #total(): number {
    return [...this.#input.fitted.known.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Notes which values to leave out. Returns whether there is something new. */
  #leaveOut(refused: readonly Refused[], round: number): boolean {
    const faults = refused.flatMap(({ line, faults: some = [] }) => some.map((fault) => ({ line, fault })));
    let isNew = false;
    for (const { line, fault } of faults) {
      // Every entry that rows refer to has a row, so it is stored when it is needed, unless it is refused itself.
      if (fault.code === "unmatched_reference") continue;
      const entry = this.#sent[line - 1];
      if (entry === undefined || fault.code === "required") continue;
      const parts = this.#refused.get(keyOf(entry)) ?? new Map<string, string>();
      this.#refused.set(keyOf(entry), parts);
      // Positions in lists have changed after the first round.
      const path = round === 1 ? fault.path : fault.path.split("/").slice(0, 3).join("/");
      if (!parts.has(path)) isNew = true;
      parts.set(path, fault.message);
    }
    return isNew;
  }

  async #send(mode: "check" | "each", pass: Pass, onRow = (_: number) => {}): Promise<Uploaded> {
    const { orb, order } = this.#input;
    const sent = await uploadRows(this.#context, {
      collection: { orb: { id: orb }, module: MODULE, schema: { id: order[0] ?? "" } },
      ...{ publish: false, mode, key: "", onRow, rows: () => this.#eachRow(pass) },
      match: { fields: SOURCE_ID, on: "upsert" },
    });
    if (sent.stopped !== undefined)
      throw new CommandError(`The migration broke off: ${sent.stopped} Run the same command again to go on.`);
    return sent;
  }

  async *#eachRow(pass: Pass) {
    this.#sent = [];
    const sent = new Set<string>();
    const readers = this.#files.map((files) => files.reader());
    for (const [at, schema] of this.#input.order.entries()) {
      for await (const entry of this.#input.source.entries(schema)) {
        const key = keyOf(entry);
        const form = this.#formOf(key, pass);
        if (form === undefined) continue;
        this.#sent.push({ schema, id: entry.id });
        const { row } = rowOf(this.#rows, entry, this.#sent.length, form, (one) => sent.has(one));
        sent.add(key);
        yield { row: readers[at]?.(row) ?? row, key: "" };
      }
    }
  }

  /** Returns which row of an entry a pass sends; undefined for none. */
  #formOf(key: string, pass: Pass): Form | undefined {
    if (this.#lostKeys.has(key)) return undefined;
    // What is published of such an entry is not touched any more.
    if (this.#begun.has(key) && pass !== "live") return "draft";
    if (pass === "all") return "live";
    if (pass === "live") return this.#late.has(key) && !this.#begun.has(key) ? "live" : undefined;
    if (pass === "draft") return this.#held.has(key) ? "draft" : undefined;
    return "first";
  }
}

/**
 * Many new entries at once. Entries are written in groups, each one atomic batch (or, where nothing must be atomic,
 * messages in a row); a group that meets a conflict is written entry by entry, so that only the culprit fails.
 */
import type { Actor } from "../../access/actor.ts";
import { requireMay, roleIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { fenceGuard } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault, unavailable } from "../../kernel/errors.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, StreamMissing } from "../../store/types.ts";
import { withKnownClaims } from "../index/held.ts";
import { isUniqueKey } from "../model/claims.ts";
import { type EntryWrite, GONE_SECONDS, messagesOf } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import { attempts, renewed } from "./attempts.ts";
import { commit } from "./commit.ts";
import { createEntry, type NewEntry, planNew, schemaFor } from "./create.ts";

/** What came of one line. */
export type BulkResult =
  | { line: number; snapshot: EntrySnapshot }
  /** Not written: `code`, `detail` and `errors` as a single request would have answered. */
  | { line: number; error: AppError };

export interface BulkInput {
  orbId: string;
  orb: OrbContext;
  /** JSON Lines: one new entry each. Blank lines are passed over. */
  lines: AsyncIterable<string>;
  /** Parses a line. @throws AppError malformed */
  parse: (line: string) => unknown;
  /** Makes every entry live that does not say otherwise itself. */
  publish?: boolean | undefined;
  /**
   * Authenticates the caller again. Called before each group, because an upload takes minutes.
   * @throws AppError when the caller's access has ended
   */
  authority?: (() => Promise<Actor>) | undefined;
  /** The caller's key: each line is then written at most once. */
  idempotency?: { key: string; route: string } | undefined;
}

/** Entries of one group, and messages of its batch. */
const GROUP_ENTRIES = 150;
const GROUP_MESSAGES = 900;
/** Bytes of a group: well below what the broker holds for a batch. */
const GROUP_BYTES = 4 * 1024 * 1024;
/** Members of a line. */
const MEMBERS = new Set([
  "module",
  "schema",
  "values",
  "validFrom",
  "validTo",
  "publish",
  "locale",
  "market",
]);

interface Item {
  line: number;
  /** The definition that it was checked by. */
  by: OrbContext;
  entry: NewEntry;
  write: EntryWrite;
  messages: Append[];
  bytes: number;
}

/** Writes new entries, and tells of each in the order of the lines. */
export async function* bulkWrite(deps: Deps, caller: Actor, given: BulkInput): AsyncGenerator<BulkResult> {
  let input = given;
  let actor = caller;
  let group: (Item | BulkResult)[] = [];
  let size = { messages: 0, bytes: 0 };
  let claimed = new Set<string>();
  let running: Promise<BulkResult[]> | undefined;
  let number = 0;
  let waiting: { line: number; text: string }[] = [];

  // The lines of a group are checked at the same time: their hashes, seals and look-ups overlap.
  const prepareSome = async () => {
    const some = waiting;
    waiting = [];
    if (some.length === 0) return [];
    // An upload takes minutes: each group needs the current session and definition.
    const [who, orb] = await Promise.all([input.authority?.() ?? actor, renewed(deps, input)]);
    actor = who;
    input = { ...input, orb };
    return Promise.all(some.map((each) => prepareLine(deps, actor, input, each.line, each.text)));
  };
  async function* flush(): AsyncGenerator<BulkResult> {
    const full = group;
    group = [];
    size = { messages: 0, bytes: 0 };
    claimed = new Set();
    const before = running;
    running = undefined;
    if (before !== undefined) yield* await before;
    // The next group is prepared while this one is on its way.
    running = writeGroup(deps, actor, input, full);
    running.catch(() => undefined);
  }
  async function* take(items: readonly (Item | BulkResult)[]): AsyncGenerator<BulkResult> {
    for (const item of items) {
      if ("write" in item) {
        const keys = item.write.claims.adds.filter(isUniqueKey);
        const marks = keys.map((key) => `${item.write.address.type}/${item.write.address.schema}/${key}`);
        const full =
          group.length >= GROUP_ENTRIES ||
          size.messages + item.messages.length > GROUP_MESSAGES ||
          size.bytes + item.bytes > GROUP_BYTES ||
          // Two of one group want one value: the second is judged after the first is written.
          marks.some((mark) => claimed.has(mark));
        if (full) yield* flush();
        for (const mark of marks) claimed.add(mark);
        size.messages += item.messages.length;
        size.bytes += item.bytes;
      }
      group.push(item);
    }
  }

  // What came before the lines broke off, or before a group could not be checked, is written and told all the same.
  let failure: { cause: unknown } | undefined;
  try {
    for await (const text of input.lines) {
      number++;
      if (text.trim() === "") continue;
      waiting.push({ line: number, text });
      if (waiting.length < GROUP_ENTRIES) continue;
      yield* take(await prepareSome());
      // What is checked does not wait for a client who sends no more for a while.
      yield* flush();
    }
  } catch (cause) {
    failure = { cause };
  }
  try {
    yield* take(await prepareSome());
    yield* flush();
  } catch (cause) {
    failure ??= { cause };
  }
  if (running !== undefined) yield* await (running as Promise<BulkResult[]>);
  if (failure !== undefined) throw failure.cause;
}

function asError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof StreamMissing) return unavailable(error);
  throw error;
}

async function prepareLine(
  deps: Deps,
  actor: Actor,
  input: BulkInput,
  line: number,
  text: string,
): Promise<Item | BulkResult> {
  try {
    const entry = readLine(input.parse(text), input.publish === true);
    const context = input.orb;
    const schema = authorised(actor, context, entry);
    if (input.idempotency !== undefined) {
      const { key, route } = input.idempotency;
      const made = await createEntry(deps, actor, {
        ...entry,
        orbId: input.orbId,
        orb: context,
        idempotency: { key, route: `${route}#${line}` },
      });
      return { line, snapshot: made.snapshot };
    }
    const write = await planNew(deps, actor, context, schema, entry, deps.newId());
    const messages = messagesOf(write);
    const bytes = messages.reduce((sum, { data }) => sum + data.length, 0);
    return { line, by: context, entry, write, messages, bytes };
  } catch (error) {
    return { line, error: asError(error) };
  }
}

/** The schema of a new entry that the actor may create. @throws AppError invalid, unauthenticated, forbidden */
function authorised(actor: Actor, context: OrbContext, entry: NewEntry): CompiledSchema {
  const schema = schemaFor(context, entry.module, entry.schema);
  const role = roleIn(actor, context.orb, context.compiled);
  requireMay(actor, role, "create", { access: schema.access, own: false });
  if (entry.publish === true) requireMay(actor, role, "publish", { access: schema.access, own: true });
  return schema;
}

function readLine(value: unknown, publish: boolean): NewEntry {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AppError("invalid", "validation_failed", "A line is an object with module and values.", {
      errors: [{ path: "", code: "type", message: "must be an object" }],
    });
  }
  const line = value as Record<string, unknown>;
  const faults: Fault[] = Object.keys(line)
    .filter((name) => !MEMBERS.has(name))
    .map((name) => ({
      path: `/${name.slice(0, 64)}`,
      code: "unknown_property",
      message: "is not a known property. Remove it or correct its name.",
    }));
  const text = (name: "module" | "schema" | "locale" | "market"): string | undefined => {
    const given = line[name];
    if (typeof given === "string") return given;
    if (given !== undefined || name === "module") {
      const code = given === undefined ? "required" : "type";
      faults.push({ path: `/${name}`, code, message: "must be a string" });
    }
    return undefined;
  };
  const [module, schema, locale, market] = [text("module"), text("schema"), text("locale"), text("market")];
  const wanted = line.publish ?? publish;
  if (typeof wanted !== "boolean") {
    faults.push({ path: "/publish", code: "type", message: "must be a boolean" });
  }
  if (faults.length > 0) {
    throw new AppError("invalid", "validation_failed", "The line is not valid.", { errors: faults });
  }
  return {
    module: module ?? "",
    schema,
    values: line.values,
    validFrom: line.validFrom,
    validTo: line.validTo,
    publish: wanted === true,
    locale,
    market,
  };
}

/** Writes a group, and answers for each of its lines in order. */
async function writeGroup(
  deps: Deps,
  actor: Actor,
  input: BulkInput,
  group: readonly (Item | BulkResult)[],
): Promise<BulkResult[]> {
  const items = group.filter((item): item is Item => "write" in item);
  const failed = new Map<number, AppError>();
  const { agreed, apart } = byTargets(items);
  const together = agreed.length === 0 || (await writeTogether(deps, input.orbId, agreed, failed));
  for (const item of together ? apart : items) {
    try {
      item.write = await writeAlone(deps, actor, input, item);
    } catch (error) {
      failed.set(item.line, asError(error));
    }
  }
  return group.map((item) => {
    if (!("write" in item)) return item;
    const error = failed.get(item.line);
    const snapshot = item.write.snapshots.at(-1);
    if (error !== undefined || snapshot === undefined) {
      return { line: item.line, error: error ?? unavailable() };
    }
    return { line: item.line, snapshot };
  });
}

/**
 * Tells apart those that met a target in another state than an earlier one of the group: it changed while they were
 * prepared, and one batch can expect one state of it only.
 */
function byTargets(items: readonly Item[]): { agreed: Item[]; apart: Item[] } {
  const met = new Map<string, number>();
  const agreed: Item[] = [];
  const apart: Item[] = [];
  for (const item of items) {
    const targets = item.messages.flatMap(({ expect }) =>
      expect?.subject === undefined ? [] : [{ subject: expect.subject, seq: expect.seq }],
    );
    const differs = targets.some(({ subject, seq }) => (met.get(subject) ?? seq) !== seq);
    (differs ? apart : agreed).push(item);
    if (!differs) for (const { subject, seq } of targets) met.set(subject, seq);
  }
  return { agreed, apart };
}

/** False when something stood in the way of the group; then none of it was written: a batch is one act. */
async function writeTogether(
  deps: Deps,
  orb: string,
  items: readonly Item[],
  failed: Map<number, AppError>,
): Promise<boolean> {
  const stream = streams.orb(orb);
  try {
    await deps.store.batch(stream, merged(orb, items));
    return true;
  } catch (error) {
    if (error instanceof Conflict || error instanceof StreamMissing) return false;
    // The broker is away, or did not answer: the lines say so, and the next group is tried.
    const told = asError(error);
    for (const { line } of items) failed.set(line, told);
    return true;
  }
}

/** The messages of a group that agrees on its targets: what several replace, the guard of one target, stands once. */
function merged(orb: string, items: readonly Item[]): Append[] {
  const seen = new Set<string>();
  const expected = new Set<string>();
  // The batch fails if a definition that its lines were checked by is no longer in force.
  const fences = new Map(
    items.map(({ by, write }) => [by, { id: write.address.id, ...fenceGuard(orb, by.fence) }]),
  );
  const out = [...fences.values()].map(({ id, ...expect }, index): Append => {
    return { subject: subjects.guard(orb, id, index), data: "", ttl: GONE_SECONDS, expect };
  });
  let number = out.length;
  for (const { messages, write } of items) {
    for (const message of messages) {
      const { expect, ...rest } = message;
      const elsewhere = expect?.subject;
      const again = elsewhere !== undefined && expected.has(elsewhere);
      if (elsewhere !== undefined) expected.add(elsewhere);
      const next: Append = expect === undefined || again ? rest : { ...rest, expect };
      if (message.rollup === true && seen.has(message.subject)) {
        if (next.expect === undefined) continue;
        // What it expected still has to be judged.
        const subject = subjects.guard(orb, write.address.id, number++);
        out.push({ subject, data: "", ttl: GONE_SECONDS, expect: next.expect });
        continue;
      }
      if (message.rollup === true) seen.add(message.subject);
      out.push(next);
    }
  }
  return out;
}

/** Writes one entry of a group that met a conflict, with a look at who holds its values. */
function writeAlone(deps: Deps, actor: Actor, input: BulkInput, item: Item): Promise<EntryWrite> {
  return attempts(deps, input.orbId, async () => {
    const context = await renewed(deps, input);
    const schema = authorised(actor, context, item.entry);
    const plan = await planNew(deps, actor, context, schema, item.entry, item.write.address.id);
    const write = await withKnownClaims(deps, context, schema, plan);
    await commit(deps, context, write);
    return write;
  });
}

/**
 * Creates many entries from JSON Lines (one entry per line). Lines are written in groups, each in one atomic batch. If
 * another process changes some of the data first, the batch fails. Its entries are then written one by one, so that
 * only the entry in conflict fails.
 */
import type { Actor } from "../../access/actor.ts";
import { principalIn, requireMay } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { isAnotherOrb } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault, notFound, unavailable } from "../../kernel/errors.ts";
import { withReservations } from "../index/entry-keys.ts";
import { isUniqueKey } from "../model/index-keys.ts";
import { type EntryWrite, messagesOf } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";
import { commit } from "../write/commit.ts";
import { createEntry, type NewEntry, planNew, schemaFor } from "../write/create.ts";
import { renewDefinition, retryOnConflict } from "../write/retry.ts";
import { asError, byTargets, type Item, writeTogether } from "./bulk-group.ts";

export type BulkResult =
  | { line: number; snapshot: EntrySnapshot }
  /** The error that the client would get for a request that creates only this entry. */
  | { line: number; error: AppError };

export interface BulkInput {
  orbId: string;
  orb: OrbContext;
  lines: AsyncIterable<string>;
  parse: (line: string) => unknown;
  /** Whether to publish the entries. A line of the upload (one entry as JSON) overrides this with its own `publish`. */
  publish?: boolean | undefined;
  /** Called before each group to authenticate the caller again, because an upload can take minutes. */
  authority?: (() => Promise<Actor>) | undefined;
  /** With an idempotency key, a repeated upload writes each line at most once. */
  idempotency?: { key: string; route: string } | undefined;
}

const GROUP_ENTRIES = 150;
/** Maximum number of lines whose hooks run at the same time. The limit keeps one upload from delaying other writes. */
const HOOKED_LINES = 16;
const GROUP_MESSAGES = 900;
const GROUP_BYTES = 4 * 1024 * 1024;
const ORB_DELETED =
  "The orb was deleted during the upload. Lines that were answered with 201 are deleted with it. Send all lines again if the new orb must have them.";
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

export async function* bulkWrite(deps: Deps, caller: Actor, given: BulkInput): AsyncGenerator<BulkResult> {
  let input = given;
  let actor = caller;
  let group: (Item | BulkResult)[] = [];
  let size = { messages: 0, bytes: 0 };
  let claimed = new Set<string>();
  let running: Promise<BulkResult[]> | undefined;
  let number = 0;
  let waiting: { line: number; text: string }[] = [];

  // Validate the lines of a group concurrently, so that hashing, encryption and reads overlap.
  const prepareSome = async () => {
    const some = waiting;
    waiting = [];
    if (some.length === 0) return [];
    // An upload can take minutes. So check before each group of lines whether the caller may still write, and read the
    // application's definition again.
    const [who, orb] = await Promise.all([input.authority?.() ?? actor, renewed(deps, input)]);
    actor = who;
    input = { ...input, orb };
    const prepared: (Item | BulkResult)[] = [];
    const atOnce = orb.compiled.document.hooks === undefined ? some.length : HOOKED_LINES;
    for (let i = 0; i < some.length; i += atOnce) {
      const lines = some.slice(i, i + atOnce);
      const made = lines.map((each) => prepareLine(deps, actor, input, each.line, each.text));
      prepared.push(...(await Promise.all(made)));
    }
    return prepared;
  };
  async function* flush(): AsyncGenerator<BulkResult> {
    const full = group;
    group = [];
    size = { messages: 0, bytes: 0 };
    claimed = new Set();
    const before = running;
    running = undefined;
    if (before !== undefined) yield* await before;
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
          // If this line has the same unique value as a waiting one, write the waiting lines before this line is
          // checked.
          marks.some((mark) => claimed.has(mark));
        if (full) yield* flush();
        for (const mark of marks) claimed.add(mark);
        size.messages += item.messages.length;
        size.bytes += item.bytes;
      }
      group.push(item);
    }
  }

  // If the connection breaks, still write the lines that have arrived, and report their results.
  let failure: { cause: unknown } | undefined;
  try {
    for await (const text of input.lines) {
      number++;
      if (text.trim() === "") continue;
      waiting.push({ line: number, text });
      if (waiting.length < GROUP_ENTRIES) continue;
      yield* take(await prepareSome());
      // A slow client may take long to send more lines. So write the validated lines now.
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

/**
 * Reads the current definition. Fails if the application was deleted, even if there is a new application with its id.
 */
async function renewed(deps: Deps, input: BulkInput): Promise<OrbContext> {
  const now = await renewDefinition(deps, input);
  if (isAnotherOrb(input.orb.fence, now.fence)) throw notFound("orb", ORB_DELETED);
  return now;
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
        renew: () => renewed(deps, input),
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

function authorised(actor: Actor, context: OrbContext, entry: NewEntry): CompiledSchema {
  const schema = schemaFor(context, entry.module, entry.schema);
  const principal = principalIn(actor, context.orb, context.compiled);
  requireMay(principal, "create", { access: schema.access, own: false });
  if (entry.publish === true) requireMay(principal, "publish", { access: schema.access, own: true });
  return schema;
}

function readLine(value: unknown, publish: boolean): NewEntry {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AppError(
      "invalid",
      "validation_failed",
      "Each line must be an object with module and values.",
      {
        errors: [{ path: "", code: "type", message: "must be an object" }],
      },
    );
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
    throw new AppError(
      "invalid",
      "validation_failed",
      "The line is not valid. Correct the properties listed in errors.",
      { errors: faults },
    );
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

function writeAlone(deps: Deps, actor: Actor, input: BulkInput, item: Item): Promise<EntryWrite> {
  return retryOnConflict(deps, input.orbId, async () => {
    const context = await renewed(deps, input);
    const schema = authorised(actor, context, item.entry);
    const plan = await planNew(deps, actor, context, schema, item.entry, item.write.address.id);
    const write = await withReservations(deps, context, schema, plan);
    await commit(deps, context, write);
    return write;
  });
}

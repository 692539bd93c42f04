/**
 * Creates many entries from JSON Lines (one entry per line), in the order of the lines. Lines are written in groups,
 * each in one atomic batch. If another process changes some of the data first, the batch fails. Its entries are then
 * written one by one, so that only the entry in conflict fails.
 */
import type { Actor } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import type { OrbContext } from "../model/index.ts";
import { UploadClaims } from "./bulk-claims.ts";
import type { Item } from "./bulk-group.ts";
import { nothingWritten, stoppedAt } from "./bulk-line.ts";
import {
  type BulkResult,
  checkUnique,
  type Keyed,
  type Line,
  type Prepared,
  prepareLines,
  readKeyedLines,
  uniqueMarks,
} from "./bulk-prepare.ts";
import { endUpload, finishTakingBack, Unfinished } from "./bulk-unfinished.ts";
import { renewed, type Writing, writeGroup } from "./bulk-write.ts";
import {
  isOnlyBare,
  isUnmatched,
  type Late,
  LateLines,
  missingMarks,
  type Unmatched,
  withoutUnmatched,
} from "./late.ts";

export type { BulkResult } from "./bulk-prepare.ts";
export { MATCH_ACTS, type Matching } from "./match.ts";

/** `module`, `schema` and `publish` apply to lines that do not name them. */
export interface BulkInput extends Writing {
  lines: AsyncIterable<string>;
  /**
   * Whether to delete the entries of lines that an interrupted upload with the same key has stored, if this upload does
   * not repeat them in their order.
   */
  takeBack?: boolean | undefined;
  /** Ends an upload that takes back. Until then, a later upload may take its lines back. */
  end?: boolean | undefined;
  /**
   * Whether to check all lines before the first one is written. If one is refused, none is written. For up to
   * {@link CHECKED} lines.
   */
  checkFirst?: boolean | undefined;
  /** Called with the number of entries that were taken back. */
  onTakenBack?: ((count: number) => void) | undefined;
  /** Called before each group to authenticate the caller again, because an upload can take minutes. */
  authority?: (() => Promise<Actor>) | undefined;
}

const GROUP_ENTRIES = 150;
const GROUP_MESSAGES = 900;
const GROUP_BYTES = 4 * 1024 * 1024;
const BLANK = /^[ \t\r]*$/;
/** Returns whether a line of an upload contains nothing. */
export const isBlankLine = (text: string): boolean => BLANK.test(text);
/** Maximum lines, and their characters, that an upload checks before it writes any. They are kept in memory. */
export const CHECKED = { lines: 10_000, characters: 4 * 1024 * 1024 };

export function bulkWrite(deps: Deps, actor: Actor, input: BulkInput): AsyncGenerator<BulkResult> {
  return input.checkFirst === true && input.dryRun !== true
    ? writeChecked(deps, actor, input)
    : writeStreamed(deps, actor, { ...input, checkFirst: false });
}

/**
 * Checks all lines, and then writes them. Lines are validated and planned only once, unless something of an earlier
 * upload is taken back, or hooks must be called.
 */
async function* writeChecked(deps: Deps, actor: Actor, input: BulkInput): AsyncGenerator<BulkResult> {
  const groups = await collected(input.lines);
  const check = new Upload(deps, actor, { ...input, dryRun: true, onTakenBack: undefined });
  const planned: Planned[] = [];
  const refused: BulkResult[] = [];
  for (const group of groups) {
    for await (const result of check.add(group, undefined, planned))
      if ("error" in result) refused.push(result);
  }
  for await (const result of check.settle()) if ("error" in result) refused.push(result);
  refused.sort((a, b) => a.line - b.line);
  await check.end();
  if (refused.length > 0) {
    yield* refused;
    throw nothingWritten(refused.length);
  }
  // A check writes nothing, so what it finds for lines of existing entries is not a plan.
  const reuses =
    input.orb.compiled.document.hooks === undefined && !check.takesBack && input.match === undefined;
  const upload = new Upload(deps, actor, input);
  try {
    for (const [at, group] of groups.entries()) yield* upload.add(group, reuses ? planned[at] : undefined);
    yield* upload.settle();
    await upload.end();
  } catch (cause) {
    // The group before the error may be complete. Its results are still due.
    yield* upload.finish();
    throw cause;
  }
}

/** @throws AppError too_large `too_many_lines` */
async function collected(lines: AsyncIterable<string>): Promise<Line[][]> {
  const groups: Line[][] = [];
  let number = 0;
  let characters = 0;
  let count = 0;
  for await (const text of lines) {
    number++;
    if (BLANK.test(text)) continue;
    count++;
    characters += text.length;
    if (count > CHECKED.lines || characters > CHECKED.characters) throw tooManyLines();
    const last = groups.at(-1);
    const line = { line: number, text };
    if (last === undefined || last.length === GROUP_ENTRIES) groups.push([line]);
    else last.push(line);
  }
  return groups;
}

function tooManyLines(): AppError {
  const detail = `With checkFirst, an upload has at most ${CHECKED.lines.toLocaleString("en")} lines and ${CHECKED.characters / 1024 / 1024} MiB. Nothing was written. Check the lines with dryRun=true, and then upload them without checkFirst.`;
  return new AppError("too_large", "too_many_lines", detail);
}

async function* writeStreamed(deps: Deps, actor: Actor, input: BulkInput): AsyncGenerator<BulkResult> {
  const upload = new Upload(deps, actor, input);
  const lines = input.lines[Symbol.asyncIterator]();
  let broken: { cause: unknown } | undefined;
  try {
    for (let number = 1, ended = false; !ended; ) {
      const some: { line: number; text: string }[] = [];
      while (some.length < GROUP_ENTRIES && !ended) {
        // If the connection breaks, still write the lines that have arrived, and report their results.
        const next = await lines.next().catch((cause: unknown) => {
          broken = { cause };
          return undefined;
        });
        if (next === undefined || next.done === true) ended = true;
        else {
          if (!BLANK.test(next.value)) some.push({ line: number, text: next.value });
          number++;
        }
      }
      yield* upload.add(some);
    }
    if (broken === undefined) yield* upload.settle();
    yield* upload.finish();
    if (broken === undefined) await upload.end();
  } catch (cause) {
    // The group before the error may be complete. Its results are still due.
    yield* upload.finish();
    throw cause;
  } finally {
    await lines.return?.(undefined);
  }
  if (broken !== undefined) throw broken.cause;
}

/** What is planned for a group of lines. */
interface Planned {
  read: readonly Keyed[];
  prepared: readonly Prepared[];
}

/** Collects lines into groups, and writes each group while the next one is validated. */
class Upload {
  readonly #deps: Deps;
  #actor: Actor;
  #input: BulkInput;
  #group: Prepared[] = [];
  #size = { messages: 0, bytes: 0 };
  /** Unique values of the group; in a dry run, of all lines so far. */
  #marks = new Set<string>();
  #running: Promise<BulkResult[]> | undefined;
  #unfinished: Unfinished | undefined;
  #takesBack = false;
  /** The lines of the last group, by their numbers. */
  #reads = new Map<number, Keyed>();
  readonly #late = new LateLines();
  /** Whether no line may wait any longer. */
  #isSettled = false;
  /** Lines whose entries were created without some of their references. */
  readonly #bare = new Set<number>();

  constructor(deps: Deps, actor: Actor, input: BulkInput) {
    this.#deps = deps;
    this.#actor = actor;
    this.#input = input;
  }

  /** Whether the upload has found lines to take back. */
  get takesBack(): boolean {
    return this.#takesBack;
  }

  /**
   * Validates lines, and writes them. Yields results of earlier lines.
   * @param planned what an earlier check has planned for the lines
   * @param into where a check puts what it has planned
   */
  async *add(lines: readonly Line[], planned?: Planned, into?: Planned[]): AsyncGenerator<BulkResult> {
    if (lines.length === 0) return;
    const actor = await this.#renew();
    const read = planned?.read ?? (await readKeyedLines(this.#deps, actor, this.#input, lines));
    if (read.some((one) => "entry" in one && this.#unfinished?.differsAt(one.packed?.key) === true))
      await this.#takeBack();
    if (this.#input.match !== undefined) for (const one of read) this.#reads.set(one.line, one);
    const isPlanned = planned !== undefined && !this.#takesBack;
    const prepared = isPlanned ? planned.prepared : await prepareLines(this.#deps, actor, this.#input, read);
    if (this.#input.dryRun === true) {
      into?.push({ read, prepared });
      const byLine = new Map(read.map((one) => [one.line, one]));
      for (const result of await this.#check(prepared)) {
        if (!isUnmatched(result) || !this.#waits(byLine.get(result.line), result)) yield result;
      }
      if (this.#input.match === undefined) yield* this.#checkLate();
      return;
    }
    for (const [at, first] of prepared.entries()) {
      const one = isUnmatched(first) ? yield* this.#afterEarlier(read[at], first) : first;
      if (one !== undefined) yield* this.#accept(one);
    }
    // A slow client may take long to send more lines. So write the validated lines now.
    yield* this.#flush();
  }

  async *#accept(one: Prepared): AsyncGenerator<BulkResult> {
    if ("write" in one && this.#isFull(one)) yield* this.#flush();
    this.#take(one);
    if (!("error" in one) || this.#input.stopOnError !== true) return;
    yield* this.#flush();
    yield* this.finish();
    throw stoppedAt(one.line);
  }

  /**
   * Plans a line again, after the lines before it are written, because it may refer to their entries. Returns undefined
   * if the line waits for the entries of later lines.
   */
  async *#afterEarlier(
    read: Keyed | undefined,
    refused: Unmatched,
  ): AsyncGenerator<BulkResult, Prepared | undefined> {
    if (read === undefined || "error" in read) return refused;
    yield* this.#flush();
    yield* this.finish();
    const [one = refused] = await prepareLines(this.#deps, this.#actor, this.#input, [read]);
    return isUnmatched(one) && this.#waits(read, one) ? undefined : one;
  }

  /** Without `match`, an upload is repeated in the order of its lines, so no line may be written late. */
  #waits(read: Keyed | undefined, { error }: Unmatched): boolean {
    const { match, dryRun } = this.#input;
    const mayWait = (match !== undefined || dryRun === true) && !this.#isSettled;
    return mayWait && read !== undefined && !("error" in read) && this.#late.add({ read, error });
  }

  #check(prepared: readonly Prepared[]): Promise<BulkResult[]> {
    return checkUnique(this.#deps, this.#input, prepared, this.#marks, this.#unfinished);
  }

  /** Checks the lines that refer to entries which do not exist: whether other lines create these. */
  async *#checkLate(): AsyncGenerator<BulkResult> {
    const waiting = this.#late.take();
    const bare = waiting.map(({ read, error }) => withoutUnmatched(read, error));
    const prepared = await prepareLines(this.#deps, this.#actor, this.#input, bare);
    const results = new Map((await this.#check(prepared)).map((one) => [one.line, one]));
    for (const { read, error } of waiting) {
      const result = results.get(read.line);
      const marks = await missingMarks(this.#deps, this.#actor, this.#input.orb, read);
      const isMade = marks.every((forms) => forms.some((mark) => this.#marks.has(mark)));
      if (!isMade) yield { line: read.line, error };
      else if (result !== undefined && !isOnlyBare(result, error)) yield result;
      else yield { line: read.line, refers: true };
    }
  }

  /**
   * Call this after the last line. Writes the lines that wait for others, as soon as their entries exist. Lines that
   * refer to each other are written without these references first, and then changed.
   */
  async *settle(): AsyncGenerator<BulkResult> {
    if (this.#input.dryRun === true) {
      yield* this.#checkLate();
      return;
    }
    yield* this.finish();
    for (let before = 0, waiting = this.#late.take(); waiting.length > 0; waiting = this.#late.take()) {
      const isCircle = waiting.length === before;
      before = waiting.length;
      if (isCircle) await this.#createBare(waiting);
      this.#isSettled = isCircle;
      for (const { read, error } of waiting) {
        this.#reads.set(read.line, read);
        const one = yield* this.#afterEarlier(read, { line: read.line, error });
        if (one !== undefined) yield* this.#accept(one);
      }
      yield* this.#flush();
      yield* this.finish();
    }
  }

  /** Creates the entries of lines that refer to each other, without these references. */
  async #createBare(waiting: readonly Late[]): Promise<void> {
    for (const { read, error } of waiting) {
      const bare = withoutUnmatched(read, error);
      const prepared = await prepareLines(this.#deps, this.#actor, this.#input, [bare]);
      const items = prepared.filter((one) => "write" in one);
      const [result] = await writeGroup(this.#deps, this.#actor, this.#input, items);
      if (result !== undefined && "snapshot" in result) this.#bare.add(read.line);
    }
  }

  /**
   * An upload can take minutes. So check before each group of lines whether the caller may still write, and read the
   * application's definition again.
   */
  async #renew(): Promise<Actor> {
    const [actor, orb] = await Promise.all([
      this.#input.authority?.() ?? this.#actor,
      renewed(this.#deps, this.#input),
    ]);
    this.#actor = actor;
    this.#input = { ...this.#input, orb, claims: await this.#claims(actor, orb) };
    return actor;
  }

  async #claims(actor: Actor, orb: OrbContext): Promise<UploadClaims | undefined> {
    const { claims, idempotency, orbId, dryRun, takeBack, mostKeys } = this.#input;
    if (claims !== undefined || idempotency === undefined) return claims;
    const opened = await UploadClaims.open(this.#deps, actor, orbId, idempotency, mostKeys);
    // What an upload had begun to take back would be in the way of the lines to check.
    const writes = dryRun !== true || this.#input.checkFirst === true;
    if (writes) await finishTakingBack(this.#deps, actor, orb, opened);
    if (takeBack === true) this.#unfinished = new Unfinished(this.#deps, opened);
    return opened;
  }

  async #takeBack(): Promise<void> {
    this.#takesBack = true;
    const { orb, dryRun, onTakenBack } = this.#input;
    const count = await this.#unfinished?.takeBack(this.#actor, orb, { dryRun: dryRun === true });
    if (count !== undefined) onTakenBack?.(count);
  }

  /** Call this after the last line. Takes back the lines that an interrupted upload had after it. */
  async end(): Promise<void> {
    if (this.#input.idempotency === undefined) return;
    const { takeBack, end } = this.#input;
    const isEmpty = this.#input.claims === undefined;
    if (isEmpty && takeBack !== true && end !== true) return;
    if (isEmpty) await this.#renew();
    if ((this.#unfinished?.rest ?? 0) > 0) await this.#takeBack();
    const { claims, dryRun } = this.#input;
    // The client may be gone before it has read the results. So it says itself that it has read them.
    const ends = takeBack !== true || end === true;
    if (ends && dryRun !== true && claims !== undefined) await endUpload(claims);
  }

  /** Yields the results of the group that is being written. */
  async *finish(): AsyncGenerator<BulkResult> {
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined) return;
    const results: BulkResult[] = [];
    for (const result of await running) {
      const read = this.#reads.get(result.line);
      this.#reads.delete(result.line);
      if (isUnmatched(result) && this.#waits(read, result)) continue;
      const isBare = this.#bare.has(result.line) && "act" in result;
      results.push(isBare ? { ...result, act: "created" } : result);
    }
    yield* results;
    const refused = results.find((result) => "error" in result);
    if (refused !== undefined && this.#input.stopOnError === true) throw stoppedAt(refused.line);
  }

  #isFull(item: Item): boolean {
    return (
      this.#group.length >= GROUP_ENTRIES ||
      this.#size.messages + item.messages.length > GROUP_MESSAGES ||
      this.#size.bytes + item.bytes > GROUP_BYTES ||
      // If this line has the same unique value or key as a waiting one, write the waiting lines before this line is checked.
      marksOf(item).some((mark) => this.#marks.has(mark))
    );
  }

  #take(one: Prepared): void {
    this.#group.push(one);
    if (!("write" in one)) return;
    for (const mark of marksOf(one)) this.#marks.add(mark);
    this.#size.messages += one.messages.length;
    this.#size.bytes += one.bytes;
  }

  async *#flush(): AsyncGenerator<BulkResult> {
    const group = this.#group;
    this.#group = [];
    this.#size = { messages: 0, bytes: 0 };
    this.#marks = new Set();
    yield* this.finish();
    this.#running = writeGroup(this.#deps, this.#actor, this.#input, group);
    this.#running.catch(() => undefined);
  }
}

/** Returns what a line must not share with another line of its batch: unique values, and the line's key. */
function marksOf(item: Item): string[] {
  return [...uniqueMarks(item), ...(item.claim === undefined ? [] : [`key/${item.claim.key}`])];
}

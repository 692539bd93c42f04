/**
 * Keeps the records of all streams, outside the broker, and compares the streams with them. The broker can lose the end
 * of a block, or of a stream, without an error: then a stream is shorter than its record, or contradicts it.
 */
import { existsSync, readdirSync } from "node:fs";
import {
  findsFence,
  forgetLoss,
  orbHead,
  orbOfLoss,
  tellLoss,
} from "../../shared/definition/stored/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { pause } from "../../shared/kernel/pause.ts";
import { platformStreamNames } from "../../shared/store/broker/index.ts";
import { SMALL_BYTES } from "../../shared/store/budget.ts";
import { orbOfFiles } from "../../shared/store/file-subjects.ts";
import { isToken, orbOf, streams, subjects } from "../../shared/store/subjects.ts";
import { StreamMissing } from "../../shared/store/types.ts";
import { RESTART_ADVICE } from "../../shared/verify/damage.ts";
import { PASSING } from "../../shared/verify/verify.ts";
import { pagesOf } from "../../shared/verify/walk.ts";
import { api } from "../backup/format.ts";
import { unfinishedRestore } from "../backup/swap.ts";
import { recordFolder } from "../config/data-dir.ts";
import { oneLine } from "../process/failure.ts";
import { acceptCommand, type Loss, lineOfLoss, readLosses, removeLoss, writeLosses } from "./losses.ts";
import { idHash, isSameRecord, type Mark, type Recorded, RecordFile, recorded } from "./record-file.ts";
import { acceptDamages, SCRUB_FILE, Scrub } from "./scrub.ts";

/** Milliseconds between two looks at all streams. Also the age of writes that a loss may hide from the record. */
const TICK_MS = 10_000;
/** Milliseconds between two comparisons of all records, also those of streams that did not change. */
const COMPARE_MS = 3_600_000;
/**
 * Milliseconds between two comparisons that read all messages of the records. The broker can count messages that it
 * cannot read.
 */
const READ_MS = 7 * 86_400_000;
/** Milliseconds between two looks whether the weekly check is due. */
const DUE_MS = 3_600_000;
/** Milliseconds between two pages of such a comparison, to leave the broker and the disk to others. */
const PACE_MS = 10;
/** A purge or a replica that lags can look like a loss for a moment. */
const RETRIES = 3;
const RETRY_MS = 3_000;
/**
 * Milliseconds for which a replicated stream may be shorter than its record. A new leader has not applied all messages
 * yet, and a leader that is cut off from the others answers for some seconds.
 */
const SETTLED_MS = 25_000;

/** Whether a stream that seems to lack messages was compared often enough, and for long enough, to be sure. */
interface Tried {
  isLast: boolean;
  isSettled: boolean;
}

/** How a stream is compared: its end, also the number of its messages, or each message. */
type Depth = "end" | "count" | "read";

interface Info {
  name: string;
  created: string;
  lastSeq: number;
}

interface StreamAnswer {
  config: { name: string };
  created: string;
  state: { last_seq: number };
}

interface Missing {
  count: number;
  first: Recorded | undefined;
  from: number;
  to: number;
  ids: Set<number>;
}

/** Returns the filter of the messages that a stream must never lose; undefined if every message may be replaced. */
function lastingFilter(stream: string): string | undefined {
  const orb = orbOf(stream);
  if (orb !== undefined) return isToken(orb) ? subjects.allLogs(orb) : undefined;
  return stream === streams.platform ? subjects.allOrbHistories : undefined;
}

export interface KeeperOptions {
  dataDir: string;
  /** Receives a line when a loss is found. */
  say: (line: string) => void;
  /** Identifies the processes of the brokers. When it changes, all records are compared. */
  brokers?: () => string;
  /** Restarts the brokers. Missing if other programs start them. */
  restart?: () => Promise<void>;
}

export class RecordKeeper {
  readonly #deps: Deps;
  readonly #options: KeeperOptions;
  #timer: ReturnType<typeof setInterval> | undefined;
  #scrubbing: ReturnType<typeof setInterval> | undefined;
  #isBusy = false;
  #counted = { at: 0, brokers: "" };
  #read = { at: 0, brokers: "" };

  /** @param deps with a store that has the rights of the operator */
  constructor(deps: Deps, options: KeeperOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Compares all streams with their records, and then looks at them at intervals. */
  async start(): Promise<void> {
    await this.look().catch((error: unknown) =>
      this.#options.say(
        `The data could not be compared with its record (${oneLine(error) ?? String(error)}). This is tried again every ${TICK_MS / 1_000} s. The broker's user needs the right to publish to $JS.API.STREAM.LIST.`,
      ),
    );
    this.#timer = setInterval(() => {
      if (this.#isBusy) return;
      // The broker may be away. The next look finds what this one misses.
      void this.look().catch(() => undefined);
    }, TICK_MS);
    const scrub = new Scrub(this.#deps, this.#options);
    let isScrubbing = false;
    const scrubIfDue = async () => {
      if (isScrubbing) return;
      isScrubbing = true;
      try {
        await scrub.runIfDue();
      } catch {
        // The broker may be away. The check stays due.
      } finally {
        isScrubbing = false;
      }
    };
    this.#scrubbing = setInterval(() => void scrubIfDue(), DUE_MS);
    void scrubIfDue();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    clearInterval(this.#scrubbing);
    // A look that is under way fails without its connection. Its next one continues from the same mark.
    await this.#deps.store.close().catch(() => undefined);
  }

  /**
   * Adds new messages to the records. The first look after a start of a broker, and one every hour, compares all streams
   * with their records by number. The next one, and one every week, reads all their messages.
   */
  async look(): Promise<void> {
    this.#isBusy = true;
    try {
      if (this.#isRestoring()) return;
      const brokers = this.#options.brokers?.() ?? "";
      const now = Date.now();
      const isDue = (last: { at: number; brokers: string }, ms: number) =>
        brokers !== last.brokers || now - last.at >= ms;
      const isCount = isDue(this.#counted, COMPARE_MS);
      const depth = isCount ? "count" : isDue(this.#read, READ_MS) ? "read" : "end";
      const before = await this.#infos();
      const infos = (await this.#forgetLosses(before)) ? await this.#infos() : before;
      for (const loss of this.#losses()) infos.delete(loss.stream);
      await this.#compareNames(infos);
      await this.#followAll([...infos.values()], depth);
      if (depth === "count") this.#counted = { at: now, brokers };
      if (depth === "read") this.#read = { at: now, brokers };
      await this.#tellLosses();
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * Forgets the losses that an operator has accepted, and those of streams that were deleted since.
   * @returns whether there were any
   */
  async #forgetLosses(infos: ReadonlyMap<string, Info>): Promise<boolean> {
    let isChanged = false;
    for (const loss of readLosses(this.#options.dataDir)) {
      const { stream, accepted, created } = loss;
      const info = infos.get(stream);
      const orb = orbOfLoss(loss);
      const isDeleted =
        orb !== undefined &&
        (info === undefined
          ? !(await this.#isThere(orb))
          : created !== undefined && info.created !== created);
      if (accepted !== true && !isDeleted) continue;
      await forgetLoss(this.#deps, stream);
      if (orb !== undefined && !(await findsFence(this.#deps, orb))) await this.#restart(stream);
      if (loss.writable === true && accepted === true) acceptDamages(this.#options.dataDir, loss);
      removeLoss(this.#options.dataDir, stream);
      isChanged = true;
    }
    return isChanged;
  }

  async #restart(stream: string): Promise<void> {
    const { say, restart } = this.#options;
    const why = `The broker does not find new messages of the damaged stream ${stream} before it starts again.`;
    say(restart === undefined ? `${why} ${RESTART_ADVICE}` : `${why} Restarting it …`);
    await restart?.();
  }

  /** Tells the other processes about all losses. Repeats this in each look, because an earlier one may have failed. */
  async #tellLosses(): Promise<void> {
    for (const { accepted, recordedAt: _, created: __, damages: ___, ...loss } of readLosses(
      this.#options.dataDir,
    )) {
      if (accepted === true || this.#isRestoring()) continue;
      await tellLoss(this.#deps, loss).catch((error: unknown) => {
        // At the first look after the loss of a bucket, the start has not created it again yet.
        if (!(error instanceof StreamMissing)) throw error;
      });
    }
  }

  /** Returns the losses that the record has noticed. What the weekly check has found does not contradict the record. */
  #losses(): Loss[] {
    return readLosses(this.#options.dataDir).filter(({ writable }) => writable !== true);
  }

  /** A restore replaces streams by earlier ones, and then removes all records. */
  #isRestoring(): boolean {
    return unfinishedRestore(this.#options.dataDir) !== undefined;
  }

  #file(stream: string): RecordFile {
    return new RecordFile(this.#options.dataDir, stream, this.#deps.config.encryptionKeys);
  }

  async #infos(): Promise<Map<string, Info>> {
    const found = new Map<string, Info>();
    const own = new Set(platformStreamNames());
    for (const name of PASSING) own.delete(name);
    for (let offset = 0; ; ) {
      const answer = await api(this.#deps.store, "STREAM.LIST", { offset });
      const page = (answer.streams as StreamAnswer[] | null) ?? [];
      offset += page.length;
      for (const { config, created, state } of page) {
        const { name } = config;
        const isOfOrb = orbOf(name) !== undefined || orbOfFiles(name) !== undefined;
        // Other programs may create and delete streams of their own.
        if (!isOfOrb && !own.has(name)) continue;
        found.set(name, { name, created, lastSeq: state.last_seq });
      }
      if (page.length === 0 || offset >= Number(answer.total)) return found;
    }
  }

  /** Reports streams that have a record and do not exist. Forgets the records of deleted applications. */
  async #compareNames(infos: Map<string, Info>): Promise<void> {
    const { dataDir } = this.#options;
    const folder = recordFolder(dataDir);
    const known = new Set(this.#losses().map(({ stream }) => stream));
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (!name.endsWith(".json") || name === "losses.json" || name === SCRUB_FILE) continue;
      const stream = decodeURIComponent(name.slice(0, -".json".length));
      if (infos.has(stream) || known.has(stream)) continue;
      const orb = orbOf(stream);
      const isOwn = orb === undefined && !stream.startsWith("OBJ_");
      const mark = this.#file(stream).mark();
      const isLost = isOwn || (orb !== undefined && (await this.#isThere(orb)));
      // The stream may have been created since the list was read, by an import for example.
      if ((await this.#deps.store.streamInfo(stream)) !== null) continue;
      if (!isLost || mark === "invalid" || mark === undefined) this.#file(stream).remove();
      else this.#report(mark, 1, mark.lastSeq, "the stream does not exist.");
    }
  }

  async #isThere(orb: string): Promise<boolean> {
    const head = await orbHead(this.#deps, orb).catch((error: unknown) => {
      if (error instanceof StreamMissing) return null;
      throw error;
    });
    return head !== null && head.document !== null;
  }

  /** Compares streams that seem to lack messages again, all after one pause: a broken disk may damage many of them. */
  async #followAll(infos: readonly Info[], depth: Depth): Promise<void> {
    const since = Date.now();
    for (let attempt = 1, rest = infos; rest.length > 0; attempt++) {
      if (attempt > 1) await pause(RETRY_MS);
      const suspects: Info[] = [];
      const tried = { isLast: attempt >= RETRIES, isSettled: Date.now() - since >= SETTLED_MS };
      for (const info of rest) if (await this.#follow(info, depth, tried)) suspects.push(info);
      rest = suspects;
    }
  }

  /** @returns whether the stream seems to lack messages and must be compared again */
  async #follow(info: Info, depth: Depth, tried: Tried): Promise<boolean> {
    const file = this.#file(info.name);
    let mark = file.mark();
    if (mark === "invalid" || (mark !== undefined && !file.isWhole(mark))) {
      this.#options.say(`The record of the stream ${info.name} is damaged or of other keys. It begins anew.`);
      mark = undefined;
    }
    const isOther = mark !== undefined && mark.created !== info.created;
    if (mark === undefined || (isOther && orbOf(info.name) !== undefined)) mark = file.begin(info.created);
    else if (isOther && lastingFilter(info.name) !== undefined) {
      this.#report(mark, 1, mark.lastSeq, "the stream was created again, and its messages are gone.");
      return false;
    } else if (depth !== "end" || info.lastSeq !== mark.lastSeq) {
      const compared = await this.#compare(info, mark, file, depth, tried);
      if (compared === "suspect") return true;
      if (compared === undefined) return false;
      mark = compared;
      if (info.lastSeq === mark.lastSeq) return false;
    } else return false;
    const extended = await this.#extended(info, mark, file);
    if (!this.#isRestoring()) file.confirm(extended);
    return false;
  }

  /** Adds the messages after the mark to the record. */
  async #extended(info: Info, mark: Mark, file: RecordFile): Promise<Mark> {
    const filter = lastingFilter(info.name);
    let next = { ...mark, created: info.created };
    if (filter !== undefined) {
      for await (const messages of pagesOf(this.#deps.store, info.name, filter, mark.lastSeq + 1)) {
        // A message with a TTL marks a purge for a moment.
        const lasting = messages.filter(
          (message) => message.seq <= info.lastSeq && message.header("Nats-TTL") === undefined,
        );
        next = file.add(next, lasting.map(recorded));
        if ((messages.at(-1)?.seq ?? 0) >= info.lastSeq) break;
      }
    }
    return { ...next, lastSeq: info.lastSeq };
  }

  /**
   * Compares a stream with its record.
   * @returns the mark, which is another one if entries were purged; "suspect" if messages seem to be missing; undefined
   *   after a loss, or if the stream has changed meanwhile
   */
  async #compare(
    info: Info,
    mark: Mark,
    file: RecordFile,
    depth: Depth,
    tried: Tried,
  ): Promise<Mark | "suspect" | undefined> {
    const isShort = info.lastSeq < mark.lastSeq;
    if (isShort && this.#deps.config.replicas > 1) {
      if (await this.#hasGrown(info, mark)) return undefined;
      if (!tried.isSettled) return "suspect";
    }
    if (!isShort && depth !== "read" && (await this.#seemsWhole(info.name, mark, file, depth))) return mark;
    const { missing, rest } = await this.#search(info.name, mark, file);
    if (!isShort && missing.count === 0) {
      if (rest !== undefined && rest.mark.count < mark.count && !this.#isRestoring()) {
        file.replaceBy(rest.file, rest.mark);
        return rest.mark;
      }
      rest?.file.remove();
      return mark;
    }
    rest?.file.remove();
    if (!isShort && !tried.isLast) return "suspect";
    const now = await this.#deps.store.streamInfo(info.name);
    const isStill = now?.created === info.created && (isShort || (await this.#isMissing(info.name, missing)));
    if (!this.#isRestoring() && isStill) this.#reportLoss(info, mark, missing);
    return undefined;
  }

  /** Returns whether a stream that was shorter than its record no longer is, or was replaced. */
  async #hasGrown({ name, created }: Info, mark: Mark): Promise<boolean> {
    const now = await this.#deps.store.streamInfo(name);
    return now === null || now.created !== created || now.state.last_seq >= mark.lastSeq;
  }

  /** Asks the leader for the first message that seems to be missing, because a replica may lag behind for long. */
  async #isMissing(stream: string, { first }: Missing): Promise<boolean> {
    if (first === undefined) return true;
    const message = await this.#deps.store.getSeq(stream, first.seq, { consistency: "leader" });
    return message === null || !isSameRecord(recorded(message), first);
  }

  #reportLoss({ name, lastSeq }: Info, mark: Mark, { count, from, to, ids }: Missing): void {
    const isShort = lastSeq < mark.lastSeq;
    const end = isShort
      ? `the stream ends at ${lastSeq} instead of ${mark.lastSeq}.`
      : "the stream has lost messages.";
    const what = orbOf(name) === undefined ? "orbs" : "entries";
    const lost = count === 0 ? "" : ` ${count} revisions of ${ids.size} ${what} are missing or changed.`;
    const first = count === 0 ? lastSeq + 1 : from;
    this.#report(mark, first, isShort ? mark.lastSeq : to, `${end}${lost}`);
  }

  /** Compares the last record, and the number of records unless only the end matters. This costs up to three requests. */
  async #seemsWhole(stream: string, mark: Mark, file: RecordFile, depth: Depth): Promise<boolean> {
    const filter = lastingFilter(stream);
    const last = file.last(mark);
    if (filter === undefined || last === undefined) return true;
    const { store } = this.#deps;
    const message = await store.getSeq(stream, last.seq);
    if (message === null || !isSameRecord(recorded(message), last)) return false;
    if (depth === "end") return true;
    const countFrom = async (fromSeq: number) => {
      const page = await store.scan(stream, filter, { fromSeq, limit: 1, maxBytes: SMALL_BYTES });
      return page.messages.length + page.pending;
    };
    // Count the later messages last: then a message that is added meanwhile can only make the difference smaller.
    const all = await countFrom(1);
    return all - (await countFrom(mark.lastSeq + 1)) >= mark.count;
  }

  /** Reads a stream and its record side by side. `rest` is the record without the entries that were purged. */
  async #search(
    stream: string,
    mark: Mark,
    file: RecordFile,
  ): Promise<{ missing: Missing; rest?: { file: RecordFile; mark: Mark } }> {
    const missing: Missing = { count: 0, first: undefined, from: 0, to: 0, ids: new Set() };
    const filter = lastingFilter(stream);
    if (filter === undefined) return { missing };
    const purged = await this.#purged(stream);
    const rest = new RecordFile(this.#options.dataDir, `${stream}~`, this.#deps.config.encryptionKeys);
    let restMark: Mark = { ...rest.begin(mark.created), lastSeq: mark.lastSeq };
    let kept: Recorded[] = [];
    const lose = (record: Recorded) => {
      if (purged.has(record.id)) return;
      missing.count++;
      missing.first ??= record;
      missing.from ||= record.seq;
      missing.to = record.seq;
      if (missing.ids.size < 1_000_000) missing.ids.add(record.id);
    };
    const records = file.all(mark);
    let next = records.next();
    for await (const messages of pagesOf(this.#deps.store, stream, filter)) {
      for (const message of messages) {
        for (; !next.done && next.value.seq < message.seq; next = records.next()) lose(next.value);
        if (next.done || next.value.seq !== message.seq) continue;
        if (isSameRecord(recorded(message), next.value)) kept.push(next.value);
        else lose(next.value);
        next = records.next();
      }
      restMark = rest.add(restMark, kept);
      kept = [];
      await pause(PACE_MS);
      if (next.done) break;
    }
    for (; !next.done; next = records.next()) lose(next.value);
    return { missing, rest: { file: rest, mark: restMark } };
  }

  /** Returns the hashes of the ids of entries that were purged. */
  async #purged(stream: string): Promise<Set<number>> {
    const ids = new Set<number>();
    const orb = orbOf(stream);
    if (orb === undefined) return ids;
    for await (const messages of pagesOf(
      this.#deps.store,
      streams.platform,
      subjects.auditOf(orb, "entry"),
    )) {
      for (const message of messages) {
        const { target, detail } = message.json<{ target: string | null; detail: string | null }>();
        if (detail === "purged" && target !== null) ids.add(idHash(target));
      }
    }
    return ids;
  }

  #report(mark: Mark, from: number, to: number, says: string): void {
    const { dataDir, say } = this.#options;
    const loss: Loss = {
      stream: mark.stream,
      from,
      to,
      says,
      at: new Date().toISOString(),
      recordedAt: mark.at,
      created: mark.created,
    };
    // It says more than what the weekly check has found in the same stream.
    const others = readLosses(dataDir).filter(({ stream }) => stream !== loss.stream);
    writeLosses(dataDir, [...others, loss]);
    say(
      `DATA LOSS: ${lineOfLoss(loss)} Restore a backup, or keep what is there with: ${acceptCommand(loss)}`,
    );
  }
}

/**
 * Remembers whole answers to anonymous reads that everybody may see, for as long as all that they were made of is
 * unchanged (`shared/store/cache/trace.ts` says what that is). An answer is remembered when it is asked for again soon;
 * giving it once more costs a look at its parts and one write to the socket.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Context } from "hono";
import { type AppEnv, finished, type Host, logOf, namesOf } from "../../functions/context.ts";
import { matchesTag } from "../../functions/etag.ts";
import { Bounded, type Ground, type Held, type Pair, Trace } from "../../shared/store/cache.ts";
import { DEFINITIONS } from "../../shared/store/subjects.ts";
import type { AnswerFile } from "./answer-file.ts";
import { Lately } from "./lately.ts";
import type { RecordedResponse, Recorder } from "./response.ts";

/** What many answers have in common. */
interface Common {
  /** Names and values in turn, without those of one request and one body. */
  headers: readonly string[];
  type: string;
  route: string;
  orb: string | undefined;
}

/** An answer without the names of one request. */
interface Answer {
  common: Common;
  etag: string | undefined;
  body: Buffer;
}

/** An answer in memory, whatever it was made of. */
interface Remembered extends Answer, Held {
  trace: Trace;
}

/**
 * Answers in the file that are made of the same definition. What each is made of beside it is told of; the definition,
 * as it may be forgotten and looked up again, is known by its sequence.
 */
interface Family extends Pick<Pair, "sources"> {
  common: Common;
  definition: Ground;
  /** Of the orb's stream. */
  era: Pair["own"]["era"];
}

/** Longer addresses are not worth remembering. */
const MOST_KEY = 1_000;
/** Addresses that were asked for once and may be asked for again. */
const ASKED = 16_384;
/** What one part of an answer, which may be forgotten by all but the answer, and the answer itself take beside text. */
const PART_BYTES = 72;
const ANSWER_BYTES = 500;
/** Different heads of answers, and families of those in the file. */
const MOST_HEADS = 200;
const MOST_FAMILIES = 1_000;
/** Headers of one request, and those of one body. */
const OWN: ReadonlySet<string> = new Set([
  "x-request-id",
  "traceparent",
  "date",
  "content-length",
  "content-type",
  "etag",
]);
const OPEN = "public, no-cache";

export class AnswerMemory {
  readonly #host: () => Host;
  readonly #maxBytes: number;
  readonly #file: AnswerFile | undefined;
  readonly #known: Bounded<Remembered>;
  readonly #heads = new Map<string, Common>();
  /** By their place in this list, as the file knows them. */
  readonly #families: Family[] = [];
  /** The last family of each head. */
  readonly #familyOf = new Map<Common, number>();
  /** What is being made to be remembered. */
  readonly #making = new Map<string, Promise<void>>();
  readonly #asked = new Lately(ASKED);
  #given = 0;

  /**
   * @param maxBytes of all answers in memory together, never exceeded
   * @param file for answers that are made of one entry: they are remembered at once, others when they are asked for again
   */
  constructor(host: () => Host, maxBytes: number, file?: AnswerFile) {
    this.#host = host;
    this.#maxBytes = maxBytes;
    this.#file = file;
    this.#known = new Bounded(maxBytes);
  }

  /** How many are in memory and what they take, how many are in the file, and how often one was given. */
  get stats(): { answers: number; bytes: number; filed: number; given: number } {
    const filed = this.#file?.answers ?? 0;
    return { answers: this.#known.size, bytes: this.#known.bytes, filed, given: this.#given };
  }

  /** Told of each subject on which a message is stored. */
  stored(subject: string): void {
    this.#file?.forget(subject);
  }

  /**
   * Gives an answer out of memory, or lets it be made. While one is made that is asked for again, others who ask for it
   * wait for it; it is theirs if all that it was made of still holds then.
   */
  give(request: IncomingMessage, response: RecordedResponse, make: () => void): void {
    const key = keyOf(request);
    if (key === undefined) {
      make();
      return;
    }
    const started = Date.now();
    const known = this.#known.get(key) !== undefined;
    if (this.#send(this.#find(key), request, response, started)) return;
    const making = this.#making.get(key);
    if (making !== undefined) {
      void making.then(() => {
        if (!this.#send(this.#find(key), request, response, started)) make();
      });
      return;
    }
    const again = this.#asked.ask(key) || known;
    if (again || this.#file?.works === true) this.#record(key, again, response);
    make();
  }

  /** The answer of a key, if it may be given. */
  #find(key: string): Answer | undefined {
    const now = Date.now();
    const known = this.#known.get(key);
    if (known !== undefined) {
      known.used = true;
      if (known.trace.holds(now)) return known;
      this.#known.delete(key);
    }
    const filed = this.#file?.get(key);
    const family = filed === undefined ? undefined : this.#families[filed.family];
    if (filed === undefined || family === undefined || !holds(family, now)) return undefined;
    return { common: family.common, etag: filed.etag, body: filed.body };
  }

  #send(
    answer: Answer | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    started: number,
  ): boolean {
    if (answer === undefined) return false;
    const { headers } = request;
    const { common, etag, body } = answer;
    this.#given++;
    const { requestId, traceparent } = namesOf(text(headers["x-request-id"]), text(headers.traceparent));
    const own = ["x-request-id", requestId, "traceparent", traceparent];
    if (etag !== undefined) own.push("etag", etag);
    const same = etag !== undefined && matchesTag(text(headers["if-none-match"]), etag);
    const status = same ? 304 : 200;
    if (same) {
      response.writeHead(304, [...common.headers, ...own]);
      response.end();
    } else {
      const of = ["content-type", common.type, "content-length", String(body.length)];
      response.writeHead(200, [...common.headers, ...own, ...of]);
      response.end(body);
    }
    const host = this.#host();
    const { route, orb } = common;
    finished(host, logOf(host, requestId, traceparent), {
      method: "GET",
      route,
      status,
      started,
      orb,
      caller: undefined,
    });
    return true;
  }

  #record(key: string, again: boolean, response: RecordedResponse): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = () => {
      if (this.#making.get(key) === promise) this.#making.delete(key);
      resolve();
    };
    const recorder: Recorder = {
      trace: new Trace(),
      context: undefined,
      wants: (headers) => headers["cache-control"] === OPEN && headers["set-cookie"] === undefined,
      written: (headers, body) => {
        this.#keep(key, again, recorder, headers, body);
        over();
      },
      nothing: over,
    };
    response.recorder = recorder;
    if (!again) return;
    this.#making.set(key, promise);
    // However it ends.
    response.once("close", over);
  }

  /** What an answer is made of is noted here, where it may be remembered. */
  begin(response: RecordedResponse, context: Context<AppEnv>): Trace | undefined {
    if (response.recorder === undefined) return undefined;
    response.recorder.context = context;
    return response.recorder.trace;
  }

  /** Remembers an answer that everybody may have. */
  #keep(
    key: string,
    again: boolean,
    { trace, context }: Recorder,
    headers: OutgoingHttpHeaders,
    body: string | Buffer,
  ): void {
    // What changed while it was made is known to be wrong already.
    if (context === undefined || trace.size === 0 || !trace.holds(Date.now())) return;
    const etag = headers.etag === undefined ? undefined : String(headers.etag);
    const common = this.#commonOf(headers, context.get("route") ?? "", context.req.param("orbId"));
    const pair = this.#file?.works === true ? trace.pair(DEFINITIONS) : undefined;
    const family = pair === undefined ? 0 : this.#familyFor(common, pair);
    if (pair !== undefined && this.#file?.put(key, pair.own.subject, family, etag, body) === true) return;
    if (!again) return;
    const held = typeof body === "string" ? Buffer.from(body) : body;
    const bytes = ANSWER_BYTES + key.length * 2 + held.length + trace.size * PART_BYTES;
    // One answer must not push out all others.
    if (bytes > this.#maxBytes / 8) return;
    this.#known.set(key, { common, etag, body: held, trace, bytes, used: false });
  }

  #commonOf(all: OutgoingHttpHeaders, route: string, orb: string | undefined): Common {
    const headers: string[] = [];
    for (const name in all) if (!OWN.has(name.toLowerCase())) headers.push(name, String(all[name]));
    const type = String(all["content-type"] ?? "application/json");
    const text = [route, orb, type, ...headers].join("\n");
    let common = this.#heads.get(text);
    if (common === undefined) {
      if (this.#heads.size >= MOST_HEADS) this.#heads.clear();
      common = { headers, type, route, orb };
      this.#heads.set(text, common);
    }
    return common;
  }

  /** The family of an answer in the file: that of the last one with this head, unless the definition is another by now. */
  #familyFor(common: Common, { common: definition, own, sources }: Pair): number {
    const family: Family = { common, definition, era: own.era, sources };
    const last = this.#familyOf.get(common);
    const before = last === undefined ? undefined : this.#families[last];
    if (last !== undefined && before !== undefined && sameGround(before, family)) {
      this.#families[last] = family;
      return last;
    }
    if (this.#families.length === MOST_FAMILIES) {
      this.#file?.clear();
      this.#families.length = 0;
      this.#familyOf.clear();
    }
    this.#familyOf.set(common, this.#families.length);
    return this.#families.push(family) - 1;
  }
}

/** Whether all that the answers of a family have in common is still so. */
function holds({ definition, era, sources }: Family, now: number): boolean {
  if (!definition.holds || era.over) return false;
  for (const source of sources) source.lastUse = now;
  return true;
}

/** Whether two families are made of the same, although the definition may have been forgotten and looked up again. */
function sameGround(a: Family, b: Family): boolean {
  const [one, other] = [a.definition.message, b.definition.message];
  return (
    a.era === b.era && one?.seq === other?.seq && one?.subject === other?.subject && one?.era === other?.era
  );
}

/** What an answer is known by; undefined where none is given from memory. */
function keyOf({ method, url = "", headers }: IncomingMessage): string | undefined {
  if (method !== "GET" || headers.authorization !== undefined || headers.cookie !== undefined)
    return undefined;
  if (headers.range !== undefined) return undefined;
  // No header is empty and none at once: an empty origin is answered with a `Vary` of its own.
  const key = `${url}\n${headers["accept-language"] ?? "\0"}\n${headers.origin ?? "\0"}`;
  return key.length > MOST_KEY ? undefined : key;
}

/** A header that may come once. */
function text(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

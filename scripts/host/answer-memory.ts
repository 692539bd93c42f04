/**
 * Remembers whole answers to anonymous reads that everybody may see, for as long as all that they were made of is
 * unchanged (`shared/store/cache/trace.ts` says what that is): those that are made of one entry in a file, at once, others in
 * memory when they are asked for again soon. Giving one once more costs a look at its parts and one write to the socket.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Context } from "hono";
import { type AppEnv, finished, type Host, logOf } from "../../functions/context.ts";
import { matchesTag } from "../../functions/etag.ts";
import { namesOf } from "../../functions/trace.ts";
import { Bounded, type Held, type Pair, Trace } from "../../shared/store/cache.ts";
import type { AnswerFile } from "./answer-file.ts";
import { Lately } from "./lately.ts";
import type { RecordedResponse, Recorder } from "./response.ts";

/** What an answer is known by: its address alone, or with the languages that were asked for where these count. */
interface Keys {
  plain: string;
  spoken: string;
}

/** What many answers have in common. */
interface Head {
  /** All of it as one text. */
  key: string;
  /** Names and values in turn, without those of one request and one body. */
  headers: readonly string[];
  type: string;
  route: string;
  orb: string | undefined;
}

/** An answer without the names of one request. */
interface Answer {
  head: Head;
  etag: string | undefined;
  body: Buffer;
}

/** An answer in memory, whatever it was made of. */
interface Remembered extends Answer, Held {
  trace: Trace;
}

/**
 * Answers in the file with the same head, made under the same definition. What each is made of beside that is told of; the
 * definition, which may be forgotten and looked up again, is known by its sequence.
 */
interface Family extends Pick<Pair, "definition" | "sources"> {
  head: Head;
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
/** Different heads of answers, and families of those in the file: one for each orb, language and origin, about. */
const MOST_HEADS = 1_000;
const MOST_FAMILIES = 4_096;
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
  readonly #heads = new Map<string, Head>();
  /** By the numbers that the file knows them by, the oldest first. */
  readonly #families = new Map<number, Family>();
  /** The number of the newest family with a head. */
  readonly #newest = new Map<string, number>();
  #numbers = 0;
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

  /** How many are in memory and what they take, how many are in the file (void ones too), and how often one was given. */
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
    const keys = keysOf(request);
    if (keys === undefined) {
      make();
      return;
    }
    const started = Date.now();
    if (this.#send(this.#find(keys), request, response, started)) return;
    const making = this.#making.get(keys.spoken);
    if (making !== undefined) {
      void making.then(() => {
        if (!this.#send(this.#find(keys), request, response, started)) make();
      });
      return;
    }
    const again = this.#asked.ask(keys.spoken);
    if (again || this.#file?.works === true) this.#record(keys, again, response);
    make();
  }

  /** The answer to a request, if it may be given. */
  #find({ plain, spoken }: Keys): Answer | undefined {
    const now = Date.now();
    for (const key of [plain, spoken]) {
      const known = this.#known.get(key);
      if (known?.trace.holds(now) === true) {
        known.used = true;
        return known;
      }
      this.#known.delete(key);
    }
    const wanted = (number: number) => {
      const family = this.#families.get(number);
      return family !== undefined && holds(family, now);
    };
    const filed = this.#file?.get(plain, wanted) ?? this.#file?.get(spoken, wanted);
    const family = filed === undefined ? undefined : this.#families.get(filed.family);
    if (filed === undefined || family === undefined) return undefined;
    return { head: family.head, etag: filed.etag, body: filed.body };
  }

  #send(
    answer: Answer | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    started: number,
  ): boolean {
    if (answer === undefined) return false;
    const { headers } = request;
    const { head, etag, body } = answer;
    this.#given++;
    const { requestId, traceparent } = namesOf(text(headers["x-request-id"]), text(headers.traceparent));
    const own = ["x-request-id", requestId, "traceparent", traceparent];
    if (etag !== undefined) own.push("etag", etag);
    const same = etag !== undefined && matchesTag(text(headers["if-none-match"]), etag);
    const status = same ? 304 : 200;
    if (same) {
      response.writeHead(304, [...head.headers, ...own]);
      response.end();
    } else {
      const of = ["content-type", head.type, "content-length", String(body.length)];
      response.writeHead(200, [...head.headers, ...own, ...of]);
      response.end(body);
    }
    const host = this.#host();
    const { route, orb } = head;
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

  #record(keys: Keys, again: boolean, response: RecordedResponse): void {
    let over: (() => void) | undefined;
    const recorder: Recorder = {
      trace: new Trace(),
      context: undefined,
      wants: (headers) => headers["cache-control"] === OPEN && headers["set-cookie"] === undefined,
      written: (headers, body) => {
        this.#keep(keys, again, recorder, headers, body);
        over?.();
      },
      nothing: () => over?.(),
    };
    response.recorder = recorder;
    if (!again) return;
    const { spoken } = keys;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#making.set(spoken, promise);
    over = () => {
      if (this.#making.get(spoken) === promise) this.#making.delete(spoken);
      resolve();
    };
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
    { plain, spoken }: Keys,
    again: boolean,
    { trace, context }: Recorder,
    headers: OutgoingHttpHeaders,
    body: string | Buffer,
  ): void {
    // What changed while it was made is known to be wrong already.
    if (context === undefined || trace.size === 0 || !trace.holds(Date.now())) return;
    const key = /accept-language/i.test(String(headers.vary)) ? spoken : plain;
    const etag = headers.etag === undefined ? undefined : String(headers.etag);
    const name = headOf(headers, context.get("route") ?? "", context.req.param("orbId"));
    const head = this.#sameHead(name);
    const pair = this.#file?.works === true ? trace.pair() : undefined;
    if (pair !== undefined) {
      const family = this.#familyFor(head, pair);
      if (this.#file?.put(key, pair.own.subject, family, etag, body) === true) return;
    }
    if (!again) return;
    const held = typeof body === "string" ? Buffer.from(body) : body;
    const bytes = ANSWER_BYTES + key.length * 2 + held.length + trace.size * PART_BYTES;
    // One answer must not push out all others.
    if (bytes > this.#maxBytes / 8) return;
    this.#known.set(key, { head, etag, body: held, trace, bytes, used: false });
  }

  /** A head, in the place of which one object is enough for all. */
  #sameHead(head: Head): Head {
    const same = this.#heads.get(head.key);
    if (same !== undefined) return same;
    if (this.#heads.size >= MOST_HEADS) this.#heads.clear();
    this.#heads.set(head.key, head);
    return head;
  }

  /** The family of an answer in the file: that of the last one with this head, unless what it is made of is another by now. */
  #familyFor(head: Head, { definition, own, sources }: Pair): number {
    const family: Family = { head, definition, era: own.era, sources };
    const last = this.#newest.get(head.key);
    const before = last === undefined ? undefined : this.#families.get(last);
    if (last !== undefined && before !== undefined) {
      if (sameGround(before, family)) {
        this.#families.set(last, family);
        return last;
      }
      // Whatever is in the file of it is never given again.
      this.#families.delete(last);
    }
    const [oldest] = this.#families;
    if (oldest !== undefined && this.#families.size === MOST_FAMILIES) {
      this.#families.delete(oldest[0]);
      this.#newest.delete(oldest[1].head.key);
    }
    const number = this.#numbers++;
    this.#families.set(number, family);
    this.#newest.set(head.key, number);
    return number;
  }
}

/** What others have in common with an answer. */
function headOf(all: OutgoingHttpHeaders, route: string, orb: string | undefined): Head {
  const headers: string[] = [];
  for (const name in all) if (!OWN.has(name.toLowerCase())) headers.push(name, String(all[name]));
  const type = String(all["content-type"] ?? "application/json");
  return { key: [route, orb, type, ...headers].join("\n"), headers, type, route, orb };
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

/** What the answer to a request is known by; undefined where none is given from memory. */
function keysOf({ method, url = "", headers }: IncomingMessage): Keys | undefined {
  if (method !== "GET" || headers.authorization !== undefined || headers.cookie !== undefined)
    return undefined;
  // Other ways to write an address only make more of them.
  if (headers.range !== undefined || !url.startsWith("/") || url.includes("#")) return undefined;
  // No header is empty and none at once: an empty origin is answered with a `Vary` of its own.
  const plain = `${url}\n${headers.origin ?? "\0"}`;
  const spoken = `${plain}\n${headers["accept-language"] ?? "\0"}`;
  return spoken.length > MOST_KEY ? undefined : { plain, spoken };
}

/** A header that may come once. */
function text(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

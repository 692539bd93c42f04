/**
 * Downloads files that a table names by their address. The table may come from other people, and the content goes to the
 * platform, so only public addresses are reached: otherwise a table could make its reader publish pages of their own
 * network.
 */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import { backoff, isPassing, pause } from "../../../../shared/client/transport.ts";
import {
  checkedLookup,
  isLocal,
  isReachable,
  type Resolve,
  refusedLiteral,
} from "../../../config/addresses.ts";

/** Headers for the addresses of one system, which get them alone. */
export interface Credentials {
  /** Address of the system, without a slash at the end. */
  url: string;
  headers: Readonly<Record<string, string>>;
}

export interface FetchOptions {
  /** Whether addresses of the local machine are reached, too. */
  loopback: boolean;
  signal: AbortSignal;
  /** Maximum bytes of a file. */
  limit: number;
  credentials?: Credentials | undefined;
  resolve?: Resolve | undefined;
}

export interface Fetched {
  sha256: string;
  size: number;
  /** Last part of the address's path. */
  name: string;
}

const REDIRECTS = 5;
const ATTEMPTS = 3;
/** A server may be silent for this many milliseconds. */
const IDLE_MS = 30_000;

/** Why a file cannot be downloaded: a text that continues a sentence with the address. */
export class FetchFault extends Error {
  /** Whether another attempt may succeed. */
  readonly passes: boolean;

  constructor(message: string, passes = false) {
    super(message);
    this.passes = passes;
  }
}

/**
 * Downloads a file.
 * @param target path to write to
 * @throws FetchFault
 */
export async function fetchFile(address: string, target: string, options: FetchOptions): Promise<Fetched> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await follow(address, target, options);
    } catch (error) {
      options.signal.throwIfAborted();
      const fault = error instanceof FetchFault ? error : new FetchFault(reasonOf(error), true);
      if (!fault.passes || attempt === ATTEMPTS) throw fault;
      await pause(backoff(attempt), options.signal);
    }
  }
}

const reasonOf = (error: unknown) =>
  `cannot be read: ${error instanceof Error ? error.message : String(error)}`;

async function follow(address: string, target: string, options: FetchOptions): Promise<Fetched> {
  let url = address;
  for (let redirects = 0; redirects <= REDIRECTS; redirects++) {
    const response = await open(url, options);
    const { statusCode = 0, headers } = response;
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
      response.destroy();
      if (!URL.canParse(headers.location, url))
        throw new FetchFault("redirects to something else than an address");
      url = new URL(headers.location, url).href;
      continue;
    }
    if (statusCode !== 200) {
      response.destroy();
      throw new FetchFault(`answered with the status ${statusCode}`, isPassing(statusCode));
    }
    return { ...(await store(response, target, options)), name: nameIn(address) };
  }
  throw new FetchFault(`redirects more than ${REDIRECTS} times`);
}

function nameIn(address: string): string {
  const part = new URL(address).pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const refusal = (address: string) =>
  new FetchFault(
    `leads to ${address}, which is not a public address. Download the file, and name its path instead`,
  );

/** Returns the headers that identify the caller to an address. A redirect to another system gets none. */
function headersFor(url: URL, credentials: Credentials | undefined): Readonly<Record<string, string>> {
  if (credentials === undefined) return {};
  const { href } = new URL(`${credentials.url}/`);
  return url.href.startsWith(href) ? credentials.headers : {};
}

async function open(
  address: string,
  { loopback, signal, resolve, credentials }: FetchOptions,
): Promise<IncomingMessage> {
  const url = new URL(address);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new FetchFault(`redirects to ${url.protocol}, and must be http or https`);
  if (url.username !== "" || url.password !== "")
    throw new FetchFault("contains a password. Download the file, and name its path instead");
  const mayReach = (one: string) => isReachable(one) || (loopback && isLocal(one));
  const literal = refusedLiteral(url, mayReach);
  if (literal !== undefined) throw refusal(literal);
  // Loading these modules takes a quarter of a command's start, and most commands download nothing.
  const { request } = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  return new Promise((resolved, rejected) => {
    const sent = request(url, {
      headers: {
        ...{ accept: "*/*", "accept-encoding": "identity", "user-agent": "orb" },
        ...headersFor(url, credentials),
      },
      lookup: checkedLookup(mayReach, refusal, resolve),
      // A reused connection would skip the check of the IP address.
      agent: false,
      signal,
      timeout: IDLE_MS,
    });
    sent.once("response", resolved);
    sent.once("timeout", () => sent.destroy(new FetchFault("did not answer in time", true)));
    sent.on("error", rejected);
    sent.end();
  });
}

async function store(
  response: IncomingMessage,
  target: string,
  { limit, signal }: FetchOptions,
): Promise<Omit<Fetched, "name">> {
  const { headers } = response;
  const encoding = headers["content-encoding"] ?? "identity";
  const tooLarge = () =>
    new FetchFault(`has more than ${Math.floor(limit / 1024 / 1024).toLocaleString("en")} MiB`);
  if (encoding !== "identity" || Number(headers["content-length"] ?? 0) > limit) {
    response.destroy();
    throw encoding === "identity" ? tooLarge() : new FetchFault(`is encoded with ${encoding}`);
  }
  const hash = createHash("sha256");
  let size = 0;
  async function* counted(parts: AsyncIterable<Buffer>) {
    for await (const part of parts) {
      size += part.length;
      if (size > limit) throw tooLarge();
      hash.update(part);
      yield part;
    }
  }
  await pipeline(response, counted, createWriteStream(target), { signal });
  return { sha256: hash.digest("hex"), size };
}

/** Reads the API of another system, within limits. Sends its token to no other address. */
import { backoff, isPassing, pause } from "../../../../shared/client/transport.ts";
import { CommandError } from "../../command/context.ts";
import { parseJson } from "./read-json.ts";
import type { SourceOptions } from "./source.ts";

/** Maximum bytes of an answer. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Maximum milliseconds of a request. */
const LIMIT_MS = 60_000;
const ATTEMPTS = 5;

export interface Api {
  /** Address of the system, without a slash at the end. */
  url: string;
  /** Headers that identify the caller. */
  headers: Readonly<Record<string, string>>;
}

/**
 * Returns the API at the address of a system, and whether it runs on this machine.
 * @param owner whose token SOURCE_TOKEN must be, for messages
 * @param scheme comes before the token in the header
 * @throws CommandError if it is no address of a system, or if there is no token
 */
export function apiOf(
  { source, env }: SourceOptions,
  owner: string,
  scheme = "Bearer ",
): { api: Api; isLocal: boolean } {
  const { hostname } = readAddress(source);
  const token = env.SOURCE_TOKEN ?? "";
  if (token === "") throw new CommandError(`Set SOURCE_TOKEN to the token of ${owner}.`);
  return {
    api: { url: source.replace(/\/+$/, ""), headers: { authorization: `${scheme}${token}` } },
    isLocal: /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname),
  };
}

function readAddress(source: string): URL {
  const url = URL.canParse(source) ? new URL(source) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CommandError(
      `The source must be the address of the system, such as https://cms.example (is ${source}).`,
    );
  if (url.username !== "" || url.password !== "")
    throw new CommandError("The address must not contain a password. Set SOURCE_TOKEN to a token.");
  return url;
}

/** Returns the JSON of a path. Tries again what may pass. */
export const readApi = (api: Api, path: string): Promise<unknown> => request(api, path, false);

/** Returns the JSON of a path; undefined if the system has nothing there. */
export const findApi = (api: Api, path: string): Promise<unknown> => request(api, path, true);

async function request({ url, headers }: Api, path: string, mayLack: boolean): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    const result = await ask(`${url}${path}`, headers).catch((error: unknown) => {
      if (error instanceof CommandError) throw error;
      return { status: 0, text: error instanceof Error ? error.message : String(error) };
    });
    if (result.status >= 200 && result.status < 300) return parseJson(result.text, `${url}${path}`);
    if (mayLack && result.status === 404) return undefined;
    if ((result.status !== 0 && !isPassing(result.status)) || attempt === ATTEMPTS)
      throw new CommandError(
        `${url}${path} answered with ${result.status === 0 ? "nothing" : `the status ${result.status}`}: ${result.text.slice(0, 300)}`,
      );
    await pause(backoff(attempt), undefined);
  }
}

/** Maximum pages of a list, so that one without end ends. */
export const MOST_PAGES = 1_000_000;

/**
 * Returns a function for the items of each page of a list.
 * @throws CommandError in that function, if a page has the same items as the one before: such a list has no end
 */
export function pageCheck(place: string): (items: readonly unknown[]) => void {
  let before = "";
  return (items) => {
    const text = JSON.stringify(items);
    if (items.length > 0 && text === before) throw new CommandError(`${place} sent the same page twice.`);
    before = text;
  };
}

async function ask(address: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(address, {
    headers: { accept: "application/json", ...headers },
    redirect: "manual",
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel();
    const to = response.headers.get("location") ?? "another address";
    throw new CommandError(
      `${address} leads to ${to}. The token was not sent there. If you trust it, name that address.`,
    );
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > MOST_BYTES)
      throw new CommandError(`${address} sent more than ${MOST_BYTES / 1024 / 1024} MiB.`);
    parts.push(part);
  }
  return { status: response.status, text: Buffer.concat(parts).toString("utf8") };
}

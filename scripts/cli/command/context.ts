/** The context that every command receives: the platform's URL, a token, and functions that print. */
import { styleText } from "node:util";
import { createTransport, type Transport } from "../../../shared/client/transport.ts";
import { contentFetch, guardedFetch } from "./answers.ts";
import { CommandError } from "./error.ts";
import { lastPlatform, platformKey, readStored, type StoredToken } from "./stored.ts";
import { print, say } from "./terminal.ts";
import { realmOfToken } from "./token.ts";

export { CommandError } from "./error.ts";

const DEFAULT_URL = "http://localhost:8787";

/** Options that all commands accept. */
export interface GlobalOptions {
  url: string;
  json: boolean;
  /** Folder that contains the applications' files. */
  dir: string;
}

/** The token that requests send, and where the command found it. */
export type Credential =
  | { from: "environment"; token: string }
  | { from: "file"; token: string; stored: StoredToken }
  | { from: "nowhere"; token: undefined };

export interface Context extends GlobalOptions {
  env: NodeJS.ProcessEnv;
  credential: Credential;
  /** Command with which the user can sign in again. Error messages contain it. */
  loginCommand: string;
  transport: Transport;
  /** For contents of files, which are not kept in memory. */
  contents: Transport;
  /** Prints a result to standard output: as JSON with `--json`, otherwise as lines of text. */
  result(value: unknown, lines: () => string | readonly string[]): void;
  /** Prints a message to standard error. Prints nothing with `--json`. */
  note(line: string): void;
  color(style: "green" | "red" | "yellow" | "dim" | "bold", text: string): string;
}

/** Returns `ORB_TOKEN`, or the token that `orb login` stored for the platform. */
function credentialFor(url: string, env: NodeJS.ProcessEnv): Credential {
  if (env.ORB_TOKEN) return { from: "environment", token: env.ORB_TOKEN };
  const stored = readStored(url, env);
  return stored === null
    ? { from: "nowhere", token: undefined }
    : { from: "file", token: stored.token, stored };
}

/** Returns the platform's URL for commands without `--url`. */
export function usualUrl(env: NodeJS.ProcessEnv): string {
  return env.ORB_URL || (lastPlatform(env) ?? DEFAULT_URL);
}

function loginCommandFor(url: string, credential: Credential, env: NodeJS.ProcessEnv): string {
  const usual = usualUrl(env);
  const isUsual = URL.canParse(usual) && platformKey(usual) === url;
  const realm = credential.from === "file" ? realmOfToken(credential.token) : null;
  const orb = realm === null || realm === "platform" ? "" : ` --orb ${realm}`;
  return `orb login${isUsual ? "" : ` --url ${url}`}${orb}`;
}

/** Returns a transport that sends requests to this platform only. */
export function transportTo(url: string, token?: string, send = guardedFetch): Transport {
  return createTransport({ url, fetch: send, ...(token === undefined ? {} : { token }) });
}

/** @param env environment variables; `ORB_TOKEN` is the token for the platform's API */
export function contextOf(options: GlobalOptions, env: NodeJS.ProcessEnv): Context {
  const { json } = options;
  if (!URL.canParse(options.url) || !/^https?:$/.test(new URL(options.url).protocol))
    throw new CommandError(`--url must be an address such as https://shop.example (is ${options.url}).`);
  const url = platformKey(options.url);
  const credential = credentialFor(url, env);
  const { token } = credential;
  return {
    ...options,
    url,
    env,
    credential,
    loginCommand: loginCommandFor(url, credential, env),
    transport: transportTo(url, token),
    contents: transportTo(url, token, contentFetch),
    result(value, lines) {
      if (json) return print(JSON.stringify(value, null, 2));
      const text = [lines()].flat().join("\n");
      if (text !== "") say("stdout", text);
    },
    note(line) {
      if (!json) say("stderr", line);
    },
    // Honours NO_COLOR and FORCE_COLOR, and uses no colours if the output is not a terminal.
    color: (style, text) => styleText(style, text, { stream: process.stdout }),
  };
}

/** Sends a request to the management API and returns the body of the response. */
export async function manage<T>(
  { transport }: Pick<Context, "transport">,
  method: "GET" | "POST" | "PUT" | "DELETE",
  path: string,
  options: { query?: Record<string, string>; body?: unknown; headers?: Record<string, string> } = {},
): Promise<T> {
  const response = await transport.send({
    method,
    path,
    query: new URLSearchParams(options.query),
    body: options.body,
    headers: options.headers ?? {},
    repeat: method === "GET" || options.headers?.["idempotency-key"] !== undefined ? "safe" : "refused",
  });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

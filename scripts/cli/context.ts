/** The context that every command receives: the platform's address, a token, and functions that print. */
import { styleText } from "node:util";
import { createTransport, type Transport } from "../../shared/client/transport.ts";

export const DEFAULT_URL = "http://localhost:8787";

/** An error whose message tells the user what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** Options that all commands accept. */
export interface GlobalOptions {
  url: string;
  json: boolean;
  /** Folder that contains the orbs' files. */
  dir: string;
}

export interface Context extends GlobalOptions {
  transport: Transport;
  /** Prints a result to standard output: as JSON with `--json`, otherwise as lines of text. */
  result(value: unknown, lines: () => string | readonly string[]): void;
  /** Prints a message to standard error. Prints nothing with `--json`. */
  note(line: string): void;
  color(style: "green" | "red" | "yellow" | "dim" | "bold", text: string): string;
}

/** @param env environment variables; `ORB_TOKEN` is the token for the platform's API */
export function contextOf(options: GlobalOptions, env: NodeJS.ProcessEnv): Context {
  const { url, json } = options;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CommandError(`--url must be an address such as https://shop.example (is ${url}).`);
  const token = env.ORB_TOKEN === "" ? undefined : env.ORB_TOKEN;
  return {
    ...options,
    transport: createTransport({ url, ...(token === undefined ? {} : { token }) }),
    result(value, lines) {
      const text = json ? JSON.stringify(value, null, 2) : [lines()].flat().join("\n");
      if (text !== "") process.stdout.write(`${text}\n`);
    },
    note(line) {
      if (!json) process.stderr.write(`${line}\n`);
    },
    // Honors NO_COLOR and FORCE_COLOR, and omits colors if the output is not a terminal.
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

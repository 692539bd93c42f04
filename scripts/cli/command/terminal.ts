/** Writes text to the terminal. Everything that a server has sent passes through this module. */
import { Transform, type Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** The styles that `Context.color` uses. All other escape sequences may come from a server. */
const OWN_STYLE = "\\u001b\\[(?:1|2|22|31|32|33|39)m";
/**
 * Control characters except tab and line feed, and characters that change the direction of text. With them a server
 * could move the cursor, write to the clipboard, or show other text than it sent.
 */
const HARMFUL =
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]";
const SEARCH = new RegExp(`${OWN_STYLE}|${HARMFUL}`, "g");

/** Returns text with harmful characters as escapes such as `\u001b`, which are also valid in JSON. */
export function clean(text: string): string {
  return text.replace(SEARCH, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Writes lines for people to standard output or standard error. */
export function say(to: "stdout" | "stderr", text: string): void {
  process[to].write(`${clean(text)}\n`);
}

/** Writes data for programs to standard output: exactly as it is, unless a person sees it in a terminal. */
export function print(text: string): void {
  process.stdout.write(`${process.stdout.isTTY ? clean(text) : text}\n`);
}

/** Returns standard output for data, which stays exact unless a person sees it in a terminal. Do not close it. */
export function standardOutput(): Writable {
  if (!process.stdout.isTTY) return process.stdout;
  const decoder = new StringDecoder("utf8");
  const cleaned = new Transform({
    transform: (chunk: Buffer, _, done) => done(null, clean(decoder.write(chunk))),
    flush: (done) => done(null, clean(decoder.end())),
  });
  cleaned.pipe(process.stdout, { end: false });
  return cleaned;
}

/**
 * What an import has uploaded, in a file that survives the command: one line of JSON for each upload. A line that was cut
 * off by a kill is ignored.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { stateFolder } from "../../command/stored.ts";

interface Line {
  /** Hash of the content, and the number of this copy of it. */
  key?: string;
  /** Id of the file. */
  id?: string;
  /** Id of an upload in parts that has begun. */
  begun?: string;
  /** Address that had the content with the hash `sha256` at the time `at`. */
  address?: string;
  sha256?: string;
  at?: number;
}

/** An address is read again after this many milliseconds. */
const FRESH_MS = 24 * 60 * 60 * 1000;
/** The file of an import that was not repeated for this many milliseconds is deleted. */
const FORGOTTEN_MS = 60 * FRESH_MS;

export class KeptUploads {
  readonly #path: string;
  readonly #ids = new Map<string, string>();
  readonly #begun = new Map<string, string>();
  readonly #addresses = new Map<string, { sha256: string; at: number }>();

  /** @param name identifies the import */
  constructor(env: NodeJS.ProcessEnv, name: string) {
    this.#path = join(stateFolder(env), "imports", `${name}.jsonl`);
    const folder = dirname(this.#path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeOld(folder);
    for (const line of readLines(this.#path)) this.#take(line);
  }

  /** Returns the id of the file that has a content. */
  idOf(key: string): string | undefined {
    return this.#ids.get(key);
  }

  /** Returns the id of the upload that has begun for a content. */
  begunOf(key: string): string | undefined {
    return this.#begun.get(key);
  }

  /** Returns the hash of the content that an address had lately. */
  contentOf(address: string): string | undefined {
    const found = this.#addresses.get(address);
    return found !== undefined && Date.now() - found.at < FRESH_MS ? found.sha256 : undefined;
  }

  keep(line: Line): void {
    this.#take(line);
    // A kill may have cut off the line before, so begin a new one.
    appendFileSync(this.#path, `\n${JSON.stringify(line)}`, { mode: 0o600 });
  }

  #take({ key, id, begun, address, sha256, at = 0 }: Line): void {
    if (key !== undefined && id !== undefined) this.#ids.set(key, id);
    if (key !== undefined && begun !== undefined) this.#begun.set(key, begun);
    if (address !== undefined && sha256 !== undefined) this.#addresses.set(address, { sha256, at });
  }
}

function readLines(path: string): Line[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line): Line[] => {
    try {
      const read: unknown = JSON.parse(line);
      return typeof read === "object" && read !== null ? [read] : [];
    } catch {
      return [];
    }
  });
}

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > FORGOTTEN_MS) rmSync(path, { force: true });
  }
}

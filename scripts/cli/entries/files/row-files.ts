/** Uploads the files that rows name by a path or an address. Each content is uploaded once. */
import { createHash } from "node:crypto";
import { createReadStream, openAsBlob } from "node:fs";
import { mkdtemp, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve, sep } from "node:path";
import { filesOf } from "../../../../shared/client/files.ts";
import { isProblem } from "../../../../shared/client/problem.ts";
import type { Row } from "../../../../shared/rows/row.ts";
import type { Context } from "../../command/context.ts";
import { bar } from "../../command/progress.ts";
import { continuing } from "./continued.ts";
import { type Credentials, FetchFault, fetchFile } from "./fetch.ts";
import { KeptUploads } from "./kept.ts";
import { type FileField, hasFiles, isAddress, withFiles } from "./named.ts";

/** Uploads at the same time. */
const AT_ONCE = 4;
/** Maximum bytes of a file that an address names. */
const FETCH_LIMIT = 1024 * 1024 * 1024;
/**
 * Entries for which a content is uploaded once. At most 100 entries may refer to one file. A further copy needs no space:
 * the platform stores equal contents once.
 */
const ENTRIES_PER_FILE = 100;

export interface FileOptions {
  /** Id of the orb. */
  orb: string;
  /** The fields of the rows. */
  fields: readonly FileField[];
  /** Folder of the files that rows name by their path. */
  folder: string | undefined;
  /** Whether addresses may lead to the local machine. */
  loopback: boolean;
  /** Identifies the import. */
  import: string;
  /** Whether to upload the other files if some are missing. */
  partly?: boolean;
  /** For files that only the owner of a token can download. */
  credentials?: Credentials | undefined;
}

/** Why a file cannot be uploaded. */
export interface FileFault {
  /** The path or the address. */
  named: string;
  /** Number of the first row that names it. */
  line: number;
  code: string;
  reason: string;
}

/** A file that rows name. */
interface Named {
  named: string;
  /** The first row that names it, and its column. */
  line: number;
  column: string;
  /** How often rows name it. */
  uses: number;
}

/** A file on this machine. */
interface Content {
  path: string;
  name: string;
  sha256: string;
}

/** What all uploads of a run share. */
interface Work {
  kept: KeptUploads;
  /** Folder for the contents of addresses. */
  temporary: string;
  signal: AbortSignal;
}

const keyOf = (sha256: string, copy: number) => `${sha256}#${copy}`;

export class RowFiles {
  readonly #context: Context;
  readonly #options: FileOptions;
  readonly #named = new Map<string, Named>();
  /** Hashes of the contents, by the path or address that names them. */
  readonly #contents = new Map<string, string>();
  /** Ids of the uploaded files, by content and copy. */
  readonly #ids = new Map<string, string>();
  /** How often rows name each content. */
  readonly #uses = new Map<string, number>();
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #hasFiles: boolean;

  constructor(context: Context, options: FileOptions) {
    this.#context = context;
    this.#options = options;
    this.#hasFiles = hasFiles(options.fields);
  }

  /** Remembers the files that a row names. */
  note(row: Row): void {
    if (!this.#hasFiles) return;
    withFiles(row, this.#options.fields, (named, column) => {
      const found = this.#named.get(named);
      if (found === undefined) this.#named.set(named, { named, line: row.line, column, uses: 1 });
      else found.uses++;
      return named;
    });
  }

  /** Returns a function that returns each row with the ids of its files. Call it again to begin with the first row. */
  reader(): (row: Row) => Row {
    if (this.#named.size === 0) return (row) => row;
    const uses = new Map<string, number>();
    return (row) =>
      withFiles(row, this.#options.fields, (named) => {
        const sha256 = this.#contents.get(named) ?? "";
        const use = uses.get(sha256) ?? 0;
        uses.set(sha256, use + 1);
        const file = this.#ids.get(keyOf(sha256, Math.floor(use / ENTRIES_PER_FILE)));
        return file === undefined ? named : { file };
      });
  }

  /**
   * Uploads the files that rows name. An interrupted upload is continued.
   * @returns the files that cannot be read or uploaded. If there are any that are missing, nothing is uploaded, unless the
   *   option `partly` is set.
   */
  async upload(): Promise<FileFault[]> {
    if (this.#named.size === 0) return [];
    const missing: FileFault[] = [];
    for (const one of this.#named.values()) {
      const reason = await this.#missing(one);
      if (reason !== undefined) missing.push(refused(one, "file_missing", reason));
    }
    if (missing.length > 0 && this.#options.partly !== true) return missing.sort((a, b) => a.line - b.line);
    for (const { named } of missing) this.#named.delete(named);
    const temporary = await mkdtemp(join(tmpdir(), "orb-import-"));
    try {
      return [...missing, ...(await this.#uploadAll(temporary))];
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  }

  /** Returns the hash of the content that a path or an address had; undefined if it was not uploaded. */
  contentOf(named: string): string | undefined {
    return this.#contents.get(named);
  }

  /** Returns why a file cannot be read, and what to do; undefined if it can. */
  async #missing({ named }: Named): Promise<string | undefined> {
    const { folder } = this.#options;
    if (isAddress(named)) return URL.canParse(named) ? undefined : "is not a complete address. Correct it.";
    if (folder === undefined) return "is a path. Add --files with the folder that contains the file.";
    const path = await this.#pathOf(named);
    if (path === undefined) return `is not in ${folder}. Add the file to the folder, or correct the path.`;
    const found = await stat(path);
    return found.isFile() ? undefined : "is not a file. Correct the path.";
  }

  /** Returns the path of a file in the folder. Undefined if there is none, or if it is outside the folder. */
  async #pathOf(named: string): Promise<string | undefined> {
    const folder = await realpath(this.#options.folder ?? ".");
    const path = await realpath(resolve(folder, named)).catch(() => undefined);
    // A table may come from other people. It must not make the user upload other files.
    return path?.startsWith(folder.endsWith(sep) ? folder : folder + sep) === true ? path : undefined;
  }

  async #uploadAll(temporary: string): Promise<FileFault[]> {
    const shown = bar(this.#context, "files", this.#named.size);
    const faults: FileFault[] = [];
    const waiting = [...this.#named.values()];
    const abort = new AbortController();
    const kept = new KeptUploads(this.#context.env, this.#options.import);
    const work = { kept, temporary, signal: abort.signal };
    let done = 0;
    const worker = async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        try {
          await this.#uploadOne(one, work);
        } catch (error) {
          const reason = faultIn(error);
          if (reason === undefined) {
            waiting.length = 0;
            abort.abort();
            throw error;
          }
          faults.push(refused(one, "file_refused", reason));
        }
        shown.at(++done);
      }
    };
    const workers = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
    shown.end();
    const broken = workers.find((one) => one.status === "rejected");
    if (broken !== undefined) throw broken.reason;
    return faults.sort((a, b) => a.line - b.line);
  }

  async #uploadOne(one: Named, work: Work): Promise<void> {
    const known = isAddress(one.named) ? work.kept.contentOf(one.named) : undefined;
    if (known !== undefined && (await this.#provide(one, known, undefined, work))) return;
    const content = await this.#contentOf(one.named, work);
    try {
      await this.#provide(one, content.sha256, content, work);
    } finally {
      if (isAddress(one.named)) await rm(content.path, { force: true });
    }
  }

  /**
   * Makes sure that the platform has enough files with a content.
   * @param content undefined to look only for files of an earlier run
   * @returns whether it has enough
   */
  #provide(one: Named, sha256: string, content: Content | undefined, work: Work): Promise<boolean> {
    return this.#oneByOne(sha256, async () => {
      const uses = (this.#uses.get(sha256) ?? 0) + one.uses;
      for (let copy = 0; copy * ENTRIES_PER_FILE < uses; copy++) {
        const key = keyOf(sha256, copy);
        if (this.#ids.has(key)) continue;
        const before = await this.#stored(work.kept.idOf(key), sha256);
        if (before === undefined && content === undefined) return false;
        this.#ids.set(key, before ?? (content === undefined ? "" : await this.#send(key, content, work)));
      }
      this.#uses.set(sha256, uses);
      this.#contents.set(one.named, sha256);
      return true;
    });
  }

  /** Runs tasks about the same content one after the other, so that none uploads what another one uploads. */
  #oneByOne<T>(sha256: string, task: () => Promise<T>): Promise<T> {
    const before = this.#running.get(sha256) ?? Promise.resolve();
    const running = before.then(task, task);
    this.#running.set(sha256, running);
    return running;
  }

  async #contentOf(named: string, { kept, temporary, signal }: Work): Promise<Content> {
    if (!isAddress(named)) {
      const path = (await this.#pathOf(named)) ?? named;
      const hash = createHash("sha256");
      for await (const part of createReadStream(path, { signal })) hash.update(part as Buffer);
      return { path, name: basename(path), sha256: hash.digest("hex") };
    }
    const path = join(temporary, createHash("sha256").update(named).digest("hex"));
    const { loopback, credentials } = this.#options;
    const options = { loopback, signal, limit: FETCH_LIMIT, credentials };
    const { sha256, name } = await fetchFile(named, path, options);
    kept.keep({ address: named, sha256, at: Date.now() });
    return { path, name, sha256 };
  }

  /** Returns the id of a file if the platform still has it. */
  async #stored(id: string | undefined, sha256: string): Promise<string | undefined> {
    if (id === undefined) return undefined;
    const path = `/api/${encodeURIComponent(this.#options.orb)}/files/${encodeURIComponent(id)}`;
    try {
      const { headers } = await this.#context.transport.send({ method: "HEAD", path, repeat: "safe" });
      return headers.get("etag")?.includes(sha256) === true ? id : undefined;
    } catch (error) {
      if (isProblem(error) && (error.status === 404 || error.status === 410)) return undefined;
      throw error;
    }
  }

  async #send(key: string, { path, name }: Content, { kept, signal }: Work): Promise<string> {
    const content = await openAsBlob(path);
    const transport = continuing(this.#context.transport, content.size, {
      begun: kept.begunOf(key),
      keep: (begun) => kept.keep({ key, begun }),
    });
    const { id } = await filesOf(transport, this.#options.orb).upload(content, { name, signal });
    kept.keep({ key, id });
    return id;
  }
}

const refused = ({ named, line, column }: Named, code: string, reason: string): FileFault => ({
  named,
  line,
  code,
  reason: `${column} names ${JSON.stringify(named)}, which ${reason}`,
});

/** Returns why a file is refused; undefined for an error that concerns all files. */
function faultIn(error: unknown): string | undefined {
  if (error instanceof FetchFault) return `${error.message}.`;
  if (!isProblem(error)) return undefined;
  return [400, 413, 415, 422].includes(error.status) ? `the platform refuses: ${error.message}` : undefined;
}

/**
 * Uploads and downloads the files of an orb (an application), and creates links to them. Uploads large files in parts,
 * and resumes after a failure.
 */
import { isProblem } from "./problem.ts";
import { backoff, type CallOptions, isPassing, pause, type Request, type Transport } from "./transport.ts";

export interface UploadedFile {
  /** Id of the file. To store the file in an entry, write `{ file: id }`. */
  id: string;
  /** Size in bytes. */
  size: number;
  /** Media type. The platform detects it from the content. */
  type: string;
  /** Hash of the content as hexadecimal text. */
  sha256: string;
  name: string;
  /** Width in pixels at which browsers show the image. Missing after an upload in parts: read it from the entry. */
  width?: number;
  height?: number;
  /** Main colour of an image: `#rrggbb`. */
  color?: string;
  /** `true` for an image with several frames. It has no variants. */
  animated?: boolean;
}

export interface UploadOptions extends CallOptions {
  /** File name. Default: the name of a `File`. */
  name?: string;
  /** Media type. Default: the type of the blob. */
  type?: string;
  /** Length of a stream in bytes. If missing, the stream is sent in one request, which cannot be resumed. */
  size?: number;
  /** Called with the share of the content that is already stored, from 0 to 1. */
  onProgress?: (share: number) => void;
}

export interface DownloadOptions extends CallOptions {
  /** Bytes to download: from `start` up to but not including `end`. */
  range?: { start: number; end?: number };
}

/** Texts by language. */
export type FileTexts = Readonly<Record<string, string>>;

/** A file of the library of an orb. */
export interface LibraryFile extends UploadedFile {
  url: string;
  createdAt: string;
  createdBy: string;
  /** Number of the newest version of the description. */
  revision: number;
  /** Whether the file stays although no entry refers to it. */
  kept: boolean;
  /** Number of entries that refer to the file in at least one of their revisions. */
  uses: number;
  /** Alternative text by language. */
  alt: FileTexts;
  caption: FileTexts;
  tags: readonly string[];
  /** The point of an image that all variants show, in fractions of its sides. */
  focal: { x: number; y: number } | null;
  /** The rectangle of an image that variants show, in fractions of its sides. */
  crop: { x: number; y: number; w: number; h: number } | null;
  /** Id of the file that replaced this one. */
  replacedBy?: string;
}

/** An entry that refers to a file in at least one of its revisions. */
export interface FileUser {
  module: string;
  schema: string;
  id: string;
  status: string;
  /** Whether the newest revision has the file. */
  newest: boolean;
  /** Whether the revision that readers see has the file. */
  live: boolean;
}

export interface LibraryFileDetail extends LibraryFile {
  /** The entries that refer to the file, and whose drafts the caller may read. */
  usedIn: readonly FileUser[];
}

export interface ListFilesOptions extends CallOptions {
  /** Words that the name, the texts, the tags or the id must contain. */
  search?: string | undefined;
  /** A media type, or a group of them such as `image/*`. */
  type?: string | undefined;
  tag?: string | undefined;
  /** Only files that no entry has, or only files that another one replaced. */
  only?: "unused" | "replaced" | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface FilePage {
  items: readonly LibraryFile[];
  nextCursor: string | null;
}

/** Changes of a description. Null removes a member, or a text. */
export interface FileChange {
  name?: string;
  alt?: Readonly<Record<string, string | null>> | null;
  caption?: Readonly<Record<string, string | null>> | null;
  tags?: readonly string[] | null;
  focal?: LibraryFile["focal"];
  crop?: LibraryFile["crop"];
}

export interface ReplacedFile {
  file: LibraryFile;
  /** Entries of which a new revision has the new file. */
  changed: readonly FileUser[];
  /** Entries whose readers see the old file until their draft is published. */
  left: readonly FileUser[];
}

/** Tags to add to files, and tags to remove. */
export interface TagChange {
  add?: readonly string[];
  remove?: readonly string[];
}

/** A file, given by its id or by the value of a file field. */
export type FileRef = string | { file: string };

type Revised = CallOptions & {
  /** Number of the version that the change is based on. If there is a newer one, the platform responds with 412. */
  revision?: number;
};

export interface Files {
  /**
   * Uploads a file. Only the uploader can use the file until an entry refers to it.
   * @throws Problem if the platform rejects the file; TypeError if the platform cannot be reached
   */
  upload(content: Blob | ReadableStream<Uint8Array>, options?: UploadOptions): Promise<UploadedFile>;
  /** Returns a response with the content as its body. */
  download(file: FileRef, options?: DownloadOptions): Promise<Response>;
  /** Creates a link with which anyone can download the file until it expires. */
  link(
    file: FileRef,
    options?: CallOptions & { seconds?: number },
  ): Promise<{ url: string; expiresAt: string }>;
  /** Lists the files of the orb, page by page. Those that were uploaded, used or changed last come first. */
  list(options?: ListFilesOptions): Promise<FilePage>;
  /** Describes a file, and names the entries that refer to it. */
  get(file: FileRef, options?: CallOptions): Promise<LibraryFileDetail>;
  /** Changes the description of a file. The file then stays, although no entry refers to it. */
  update(file: FileRef, change: FileChange, options?: Revised): Promise<LibraryFile>;
  /** Replaces a file by another one in all entries, in one atomic write. */
  replace(file: FileRef, by: FileRef, options?: Revised): Promise<ReplacedFile>;
  /** Lists the tags of all files. */
  tags(options?: CallOptions): Promise<string[]>;
  /** Renames a tag in all files, or removes it from all with null. Returns all tags. */
  changeTag(from: string, to: string | null, options?: CallOptions): Promise<string[]>;
  /** Adds tags to up to 100 files and removes others, in one atomic write. */
  tag(files: readonly FileRef[], change: TagChange, options?: CallOptions): Promise<LibraryFile[]>;
  /** Deletes a file that no entry has. */
  delete(file: FileRef, options?: Revised): Promise<void>;
}

/** Bytes per part. Larger files are uploaded in parts. */
const PART_BYTES = 4 * 1024 * 1024;
const PART_TYPE = "application/offset+octet-stream";
const TUS = { "tus-resumable": "1.0.0" };
/** An upload is aborted after this many consecutive failures. */
const FAILURES = 8;

const idOf = (file: FileRef) => (typeof file === "string" ? file : file.file);

/** Returns the next part of the content, beginning at `offset`. */
type Source = (offset: number) => Promise<Blob>;

/** Reads a stream in parts. Keeps the last part, in case it must be sent again. */
function streamed(stream: ReadableStream<Uint8Array>): Source {
  const reader = stream.getReader();
  let start = 0;
  let part = new Blob();
  let rest: Uint8Array<ArrayBuffer>[] = [];
  return async (offset) => {
    if (offset < start + part.size) return part.slice(offset - start);
    start = offset;
    let size = rest.reduce((sum, { length }) => sum + length, 0);
    while (size < PART_BYTES) {
      const next = await reader.read();
      if (next.done) break;
      rest.push(next.value as Uint8Array<ArrayBuffer>);
      size += next.value.length;
    }
    const all = new Blob(rest);
    part = all.slice(0, PART_BYTES);
    rest = size > PART_BYTES ? [new Uint8Array(await all.slice(PART_BYTES).arrayBuffer())] : [];
    return part;
  };
}

/** Encodes a string for the header `Upload-Metadata`. */
const encoded = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

function isPassingFailure(error: unknown): boolean {
  return (
    error instanceof TypeError || (isProblem(error) && (isPassing(error.status) || error.status === 409))
  );
}

/**
 * The functions of {@link Files} for the library.
 * @param base path of the library
 * @param managed whether that is a path of the management API
 */
function libraryOf(transport: Transport, base: string, managed: boolean) {
  const ask = (
    method: Request["method"],
    file: FileRef | "",
    { signal, revision }: { signal?: AbortSignal | undefined; revision?: number } = {},
    more: Partial<Request> & { below?: string } = {},
  ) => {
    const { below = "", ...rest } = more;
    return transport.send({
      method,
      path: file === "" ? `${base}${below}` : `${base}/${encodeURIComponent(idOf(file))}${below}`,
      signal,
      headers: revision === undefined ? {} : { "if-match": `"${revision}"` },
      repeat: method === "GET" ? "safe" : "refused",
      ...rest,
    });
  };
  const bodyOf = async <T>(response: Promise<Response>) => (await (await response).json()) as T;
  return {
    list: ({ signal, ...options }: ListFilesOptions = {}) => {
      // A member that is undefined is left out.
      const query = new URLSearchParams(JSON.parse(JSON.stringify(options)));
      return bodyOf<FilePage>(ask("GET", "", { signal }, { query }));
    },
    get: (file: FileRef, options?: CallOptions) =>
      bodyOf<LibraryFileDetail>(
        // Below the orb's own path, the address of a file is that of its content.
        ask("GET", file, options, managed ? {} : { query: new URLSearchParams("describe=true") }),
      ),
    update: (file: FileRef, body: FileChange, options?: Revised) =>
      bodyOf<LibraryFile>(ask("PATCH", file, options, { body })),
    replace: (file: FileRef, by: FileRef, options?: Revised) =>
      bodyOf<ReplacedFile>(ask("POST", file, options, { below: "/replace", body: { by: idOf(by) } })),
    tags: async (options?: CallOptions) =>
      (await bodyOf<{ tags: string[] }>(ask("GET", "", options, { below: "/tags" }))).tags,
    changeTag: async (from: string, to: string | null, options?: CallOptions) =>
      (await bodyOf<{ tags: string[] }>(ask("PATCH", "", options, { below: "/tags", body: { from, to } })))
        .tags,
    tag: async (files: readonly FileRef[], change: TagChange, options?: CallOptions) => {
      const body = { files: files.map(idOf), ...change };
      return (await bodyOf<{ items: LibraryFile[] }>(ask("PATCH", "", options, { body }))).items;
    },
    delete: async (file: FileRef, options?: Revised) => void (await ask("DELETE", file, options)),
  };
}

/** @param library path of the library, if it is not that of the files: the management API has its own */
export function filesOf(transport: Transport, orb: string, library?: string): Files {
  const base = `/api/${encodeURIComponent(orb)}/files`;

  async function inParts(source: Source, size: number, options: UploadOptions): Promise<UploadedFile> {
    const { name, type, signal, onProgress } = options;
    const said = Object.entries({ filename: name, filetype: type });
    const metadata = said.flatMap(([key, value]) => (value ? [`${key} ${encoded(value)}`] : [])).join();
    const begun = await transport.send({
      method: "POST",
      path: `${base}/uploads`,
      headers: { ...TUS, "upload-length": String(size), "upload-metadata": metadata },
      signal,
      repeat: "safe",
    });
    // Use only the upload's id of the address, so that no answer can direct the content and the token elsewhere.
    const id = /\/uploads\/([\w-]+)$/.exec(begun.headers.get("location") ?? "")?.[1];
    if (id === undefined) throw new TypeError("The platform's response does not name the upload.");
    const path = `${base}/uploads/${id}`;
    let answer = begun;
    const offset = () => Number(answer.headers.get("upload-offset"));
    try {
      // An offset that goes back and forth is no progress.
      let most = 0;
      for (let failures = 0; offset() < size; ) {
        const from = offset();
        try {
          const body = await source(from);
          if (body.size === 0) throw new RangeError(`The stream has ended after ${from} of ${size} bytes.`);
          answer = await transport.send({
            method: "PATCH",
            path,
            upload: { body, type: PART_TYPE },
            headers: { ...TUS, "upload-offset": String(from) },
            signal,
            repeat: "refused",
          });
        } catch (error) {
          if (!isPassingFailure(error) || ++failures > FAILURES) throw error;
          await pause(backoff(failures), signal);
          answer = await transport.send({ method: "HEAD", path, headers: TUS, signal, repeat: "safe" });
        }
        if (offset() > most) [most, failures] = [offset(), 0];
        else if (++failures > FAILURES) throw new TypeError("The platform does not store what it receives.");
        onProgress?.(offset() / size);
      }
    } catch (error) {
      // Cancel the upload, because the platform would keep the uploaded bytes for a day.
      void transport.send({ method: "DELETE", path, headers: TUS, repeat: "safe" }).catch(() => undefined);
      throw error;
    }
    const { headers } = await transport.send({
      method: "HEAD",
      path: `${base}/${id}`,
      signal,
      repeat: "safe",
    });
    const location = answer.headers.get("content-location") ?? "";
    return {
      id,
      size,
      type: headers.get("content-type")?.split(";", 1)[0] ?? "",
      sha256: headers.get("etag")?.replace(/^W\/|"/g, "") ?? "",
      name: decodeURIComponent(location.slice(location.lastIndexOf("/") + 1)),
    };
  }

  async function atOnce(
    body: Blob | ReadableStream<Uint8Array>,
    { name, type, signal, onProgress }: UploadOptions,
  ): Promise<UploadedFile> {
    const response = await transport.send({
      method: "POST",
      path: base,
      query: new URLSearchParams(name === undefined ? {} : { name }),
      upload: { body, type: type || "application/octet-stream" },
      signal,
      // A retry may upload the file twice. The unused copy expires.
      repeat: "safe",
    });
    onProgress?.(1);
    return (await response.json()) as UploadedFile;
  }

  return {
    ...libraryOf(transport, library ?? base, library !== undefined),
    upload(content, options = {}) {
      if (content instanceof ReadableStream) {
        const { size } = options;
        return size === undefined || size === 0
          ? atOnce(content, options)
          : inParts(streamed(content), size, options);
      }
      const { name } = content as Blob & { name?: string };
      const known = { ...(name === undefined ? {} : { name }), type: content.type, ...options };
      const part: Source = async (offset) => content.slice(offset, offset + PART_BYTES);
      return content.size > PART_BYTES ? inParts(part, content.size, known) : atOnce(content, known);
    },
    download(file, { range, signal } = {}) {
      const last = range?.end === undefined ? "" : range.end - 1;
      const headers: Record<string, string> =
        range === undefined ? {} : { range: `bytes=${range.start}-${last}` };
      return transport.send({
        method: "GET",
        path: `${base}/${encodeURIComponent(idOf(file))}`,
        headers: { accept: "*/*", ...headers },
        signal,
        repeat: "safe",
      });
    },
    async link(file, { seconds, signal } = {}) {
      const response = await transport.send({
        method: "POST",
        path: `${base}/${encodeURIComponent(idOf(file))}/links`,
        body: seconds === undefined ? {} : { seconds },
        signal,
        repeat: "safe",
      });
      return (await response.json()) as { url: string; expiresAt: string };
    },
  };
}

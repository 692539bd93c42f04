/**
 * Uploads and downloads the files of an orb (an application), and creates links to them. Uploads large files in parts,
 * and resumes after a failure.
 */
import { isProblem } from "./problem.ts";
import { backoff, type CallOptions, isPassing, pause, type Transport } from "./transport.ts";

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

/** A file, given by its id or by the value of a file field. */
type FileRef = string | { file: string };

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

export function filesOf(transport: Transport, orb: string): Files {
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
      const path = `${base}/${encodeURIComponent(idOf(file))}`;
      return transport.send({
        method: "GET",
        path,
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

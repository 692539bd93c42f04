/** The commands `orb files upload`, `download` and `link`. */
import { createWriteStream, openAsBlob } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { filesOf } from "../../../shared/client/files.ts";
import { CommandError, type Context } from "../command/context.ts";
import { progress } from "../command/progress.ts";
import { standardOutput } from "../command/terminal.ts";

/** Uploads a file, in parts if it is large. */
export async function uploadFile(
  context: Context,
  { orb, path, signal }: { orb: string; path: string; signal: AbortSignal },
): Promise<number> {
  const content = await openAsBlob(path).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Cannot read ${path}: ${reason}. Name a file.`);
  });
  const name = basename(path);
  const shown = progress(context, `% of ${name}`);
  try {
    const onProgress = (share: number) => shown.at(Math.floor(share * 100));
    const file = await filesOf(context.transport, orb).upload(content, { name, signal, onProgress });
    context.result(file, () => file.id);
    return 0;
  } finally {
    shown.end();
  }
}

/** Downloads a file. The file gets its final name only when its content is complete. */
export async function downloadFile(
  context: Context,
  { orb, id, out, signal }: { orb: string; id: string; out: string | undefined; signal: AbortSignal },
): Promise<number> {
  const response = await filesOf(context.contents, orb).download(id, { signal });
  const { body, headers } = response;
  const size = Number(headers.get("content-length"));
  const shown = progress(context, `% of ${out ?? id}`);
  let received = 0;
  async function* counted(source: AsyncIterable<Uint8Array>) {
    for await (const part of source) {
      received += part.length;
      shown.at(Math.floor((received / Math.max(1, size)) * 100));
      yield part;
    }
  }
  const source = body === null ? Readable.from([]) : Readable.fromWeb(body as never);
  try {
    if (out === undefined) {
      await pipeline(source, counted, standardOutput(), { end: false });
      return 0;
    }
    const partial = `${out}.part`;
    try {
      await pipeline(source, counted, createWriteStream(partial));
      await rename(partial, out);
    } finally {
      await rm(partial, { force: true });
    }
    context.result({ id, out, size: received }, () => `${received} bytes in ${out}`);
    return 0;
  } finally {
    shown.end();
  }
}

/** Prints a signed link. Anyone who has it can download the file until it expires. */
export async function linkFile(
  context: Context,
  { orb, id, seconds }: { orb: string; id: string; seconds: number | undefined },
): Promise<number> {
  const options = seconds === undefined ? {} : { seconds };
  const link = await filesOf(context.transport, orb).link(id, options);
  const url = new URL(link.url, context.url).href;
  context.result({ ...link, url }, () => url);
  return 0;
}

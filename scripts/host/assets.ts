/** Serves the static files of the web pages and the console, which were built before the start. */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";

interface File {
  content: Uint8Array<ArrayBuffer>;
  tag: string;
}

/** Returns a static file. Its headers are the same as in a deployment to the Workers runtime. */
export type Assets = (name: string, ifNoneMatch?: string | null) => Promise<Response>;

async function load(path: string): Promise<File> {
  const content = new Uint8Array(await readFile(path));
  return { content, tag: `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"` };
}

/**
 * Opens a folder of static files.
 * @throws Error if the folder does not exist
 */
export function openAssets(dir: string): Assets {
  const paths = new Map(
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(dir, path).split(sep).join("/"), path]),
  );
  const read = new Map<string, Promise<File>>();
  return async (name, ifNoneMatch) => {
    const path = paths.get(name);
    if (path === undefined) return new Response(null, { status: 404 });
    let known = read.get(name);
    if (known === undefined) {
      known = load(path);
      read.set(name, known);
      known.catch(() => read.delete(name));
    }
    const { content, tag } = await known;
    const headers = { etag: tag };
    if (ifNoneMatch === tag) return new Response(null, { status: 304, headers });
    return new Response(content, { headers });
  };
}

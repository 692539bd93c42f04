/** The commands `orb types` and `orb dev`. */
import { watch } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { OrbView } from "../../functions/discovery/overview-schemas.ts";
import { Problem } from "../../shared/client/problem.ts";
import { pause } from "../../shared/kernel/pause.ts";
import { type Context, manage } from "./command/context.ts";
import { pagesOf } from "./command/pages.ts";
import { localOrbs } from "./files.ts";
import { typesOf } from "./orb-types.ts";
import { push } from "./schemas.ts";

/** With `--watch`, the command looks for changes at this interval, in milliseconds. */
const LOOK_MS = 1_000;
/**
 * Push a file only after it has not changed for this many milliseconds, because editors save a file in several steps.
 */
const SETTLED_MS = 150;

/** Reads all pages of the published applications. */
async function publishedOrbs(context: Context): Promise<OrbView[]> {
  const found: OrbView[] = [];
  const read = async (at: { cursor?: string }) => {
    const query = { limit: "200", ...at };
    const { orbs, nextCursor } = await manage<{ orbs: OrbView[]; nextCursor: string | null }>(
      context,
      "GET",
      "/api/discovery",
      { query },
    );
    return { items: orbs, nextCursor };
  };
  for await (const { items } of pagesOf(read)) found.push(...items);
  return found;
}

/**
 * Writes the types of all published applications to a file.
 * @returns whether the file has changed
 */
async function writeTypes(context: Context, path: string): Promise<{ changed: boolean; orbs: string[] }> {
  const orbs = await publishedOrbs(context);
  const text = typesOf(orbs);
  const known = await readFile(path, "utf8").catch(() => undefined);
  if (known !== text) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.tmp`, text);
    await rename(`${path}.tmp`, path);
  }
  return { changed: known !== text, orbs: orbs.map(({ id }) => id) };
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Writes the types of all published applications to a file.
 * @param options.signal stops the command if `watch` is set
 */
export async function types(
  context: Context,
  options: { out: string; watch: boolean; signal: AbortSignal },
): Promise<number> {
  const { out, signal } = options;
  const first = await writeTypes(context, out);
  context.result(
    { path: out, ...first },
    () => `Wrote the types of ${first.orbs.join(", ") || "no orbs"} to ${out}`,
  );
  while (options.watch && !signal.aborted) {
    await pause(LOOK_MS, signal);
    if (signal.aborted) break;
    try {
      const { changed } = await writeTypes(context, out);
      if (changed) context.note(`Wrote ${out}`);
    } catch (error) {
      context.note(`The platform cannot be reached (${reason(error)}). Trying again.`);
    }
  }
  return 0;
}

function told(error: unknown): string {
  if (!(error instanceof Problem)) return reason(error);
  return [error.message, ...error.errors.map(({ path, message }) => `  ${path} ${message}`)].join("\n");
}

/** Pushes a file as a draft whenever it is saved. Updates the types whenever a published application changes. */
export async function dev(
  context: Context,
  options: { out: string; publish: boolean; signal: AbortSignal },
): Promise<number> {
  const { out, publish, signal } = options;
  const pushAll = async (ids: readonly string[]) => {
    for (const id of ids) {
      try {
        await push(context, [id], { publish, force: false });
      } catch (error) {
        context.note(`${id}: ${told(error)}`);
      }
    }
  };
  await mkdir(context.dir, { recursive: true });
  const saved = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let pushing = Promise.resolve();
  // Watch before the first push, so that a save during that push is not lost.
  const watcher = watch(context.dir, { signal }, (_, name) => {
    const id = /^([a-z][\w-]*)\.json$/.exec(name ?? "")?.[1];
    if (id === undefined) return;
    saved.add(id);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const ids = [...saved];
      saved.clear();
      // Push files one after another. Otherwise an earlier version could overwrite a later one.
      pushing = pushing.then(() => pushAll(ids));
    }, SETTLED_MS);
  });
  watcher.on("error", (error) => context.note(`Cannot watch ${context.dir}: ${reason(error)}`));
  const ids = await localOrbs(context.dir);
  pushing = pushing.then(() => pushAll(ids));
  await pushing;
  context.note(`Watching ${context.dir}. Press Ctrl+C to stop.`);
  await types({ ...context, result: () => undefined }, { out, watch: true, signal });
  clearTimeout(timer);
  await pushing;
  return 0;
}

/** The command `orb batch`. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type BatchItem, sendBatch } from "../../shared/client/batch.ts";
import { transportIn } from "../../shared/client/changes.ts";
import type { OrbTypes } from "../../shared/client/types.ts";
import { isObject } from "../../shared/kernel/json.ts";
import { CommandError, type Context } from "./command/context.ts";

async function contentOf(file: string): Promise<string> {
  if (file === "-") return text(process.stdin);
  return readFile(file, "utf8").catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Cannot read ${file}: ${reason}. Name a file.`);
  });
}

function parsed(source: string): unknown {
  try {
    return JSON.parse(source) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns the items of a file: of `{"do": […]}`, or one in each line. */
function itemsIn(source: string, name: string): object[] {
  const whole = parsed(source);
  if (!isObject(whole)) {
    const lines = source.split("\n").map((line, at) => ({ line, place: `Line ${at + 1}` }));
    const given = lines.filter(({ line }) => line.trim() !== "");
    return given.map(({ line, place }) => itemOf(parsed(line), `${place} of ${name}`));
  }
  if (!Object.hasOwn(whole, "do")) return [whole];
  const list: unknown = Reflect.get(whole, "do");
  if (!Array.isArray(list) || Object.keys(whole).length > 1)
    throw new CommandError(`${name} must have the form {"do": […]}, or one item in each line.`);
  return list.map((item: unknown, at) => itemOf(item, `Item ${at} of ${name}`));
}

function itemOf(value: unknown, place: string): object {
  if (isObject(value)) return value;
  throw new CommandError(`${place} must be a JSON object, such as {"create":"catalog/product","values":{}}.`);
}

/**
 * Writes the items of a file in one atomic request.
 * @param options.change id of the change set that the items go into
 */
export async function writeBatch(
  context: Context,
  { orb, file, change }: { orb: string; file: string; change: string | undefined },
): Promise<number> {
  const name = file === "-" ? "the standard input" : file;
  const items = itemsIn(await contentOf(file), name);
  if (items.length === 0) throw new CommandError(`${name} has no items. Write one in each line.`);
  // The platform checks the items, and names the faults of each.
  const path = `/api/${encodeURIComponent(orb)}`;
  const transport = change === undefined ? context.transport : transportIn(context.transport, change);
  const written = await sendBatch(transport, path, {}, items as BatchItem<OrbTypes>[]);
  context.result(written, () =>
    written.map(
      ({ module, schema, id, revision, status }) =>
        `${status} ${module}/${schema}/${id} (revision ${revision})`,
    ),
  );
  return 0;
}

/** The commands that manage applications' documents: init, pull, diff and push. */
import { isProblem } from "../../shared/client/problem.ts";
import { CommandError, type Context, manage } from "./command/context.ts";
import { pagesOf } from "./command/pages.ts";
import { documentOf, localOrbs, type OrbDocument, readOrb, requireOrbId, textOf, writeOrb } from "./files.ts";

/** Exit code of `orb diff` if a file differs from the platform's document. */
const DIFFERENT = 2;

type Answer = Record<string, unknown> & { id: string; revision: number; publishedRevision: number | null };

/** The effects that a change has on stored entries. The platform returns them for a dry run. */
interface Effects {
  refused: boolean;
  summary: string[];
  impact: {
    changes: {
      module: string;
      schema: string;
      message: string;
      entries: number;
      refused: boolean;
      lossy?: { entries: number; examples: { id: string; reason: string }[] };
    }[];
    duplicates: { module: string; schema: string; field: string; ids: string[] }[];
    invalid: { module: string; schema: string; checked: number; invalid: number }[];
  };
}

type Difference =
  | { orb: string; state: "same" }
  | { orb: string; state: "new" }
  | ({ orb: string; state: "different" } & Effects);

const within = (change: string | undefined): Record<string, string> =>
  change === undefined ? {} : { change };

const pathOf = (id: string) => `/api/admin/orbs/${encodeURIComponent(id)}`;

/** @param change id of a change set: the document as the set will leave it */
async function remote(context: Context, id: string, change?: string): Promise<Answer | null> {
  try {
    return await manage<Answer>(context, "GET", pathOf(id), { query: within(change) });
  } catch (error) {
    if (isProblem(error, "orb_not_found")) return null;
    throw error;
  }
}

/** Returns the given ids. If there are none, returns the ids of all local files. */
async function chosen(context: Context, ids: readonly string[]): Promise<string[]> {
  const found = ids.length > 0 ? [...ids] : await localOrbs(context.dir);
  if (found.length > 0) return found;
  throw new CommandError(`There are no orbs in ${context.dir}. Run: orb pull, or: orb init <id>`);
}

/** Creates the local file of a new application. */
export async function init(context: Context, id: string): Promise<number> {
  requireOrbId(id, "The orb was not created");
  if ((await localOrbs(context.dir)).includes(id))
    throw new CommandError(`${context.dir}/${id}.json exists already. Choose another id, or edit the file.`);
  const document: OrbDocument = {
    id,
    name: id,
    languages: ["en"],
    uses: [],
    modules: [
      {
        id: "pages",
        type: "CONTENT",
        schemas: [{ id: "page", fields: [{ name: "title", type: "string", required: true }] }],
      },
    ],
  };
  const path = await writeOrb(context.dir, document);
  context.result({ orb: id, path }, () => `Wrote ${path}. Edit it, then run: orb push ${id} --publish`);
  return 0;
}

/** A list of more orbs than this does not end. */
const MOST_ORBS = 1_000_000;

/** Returns the ids of all orbs of the platform. */
export async function everyOrb(context: Context): Promise<string[]> {
  const ids: string[] = [];
  const read = (at: { cursor?: string }) =>
    manage<{ items: { id: string }[]; nextCursor: string | null }>(context, "GET", "/api/admin/orbs", {
      query: { limit: "200", ...at },
    });
  for await (const { items } of pagesOf(read)) {
    ids.push(...items.map(({ id }) => requireOrbId(id, "The platform names an orb that cannot exist")));
    if (ids.length > MOST_ORBS)
      throw new CommandError("The platform's list of orbs does not end. Name the orbs: orb pull <id>");
  }
  return ids;
}

/** Writes the newest revision of each application to its local file. */
export async function pull(context: Context, given: readonly string[]): Promise<number> {
  const ids = given.length > 0 ? given : await everyOrb(context);
  const written: { orb: string; path: string; revision: number }[] = [];
  for (const id of ids) {
    const orb = await remote(context, id);
    if (orb === null)
      throw new CommandError(`The platform has no orb ${id}. Check the id, or run: orb init ${id}`);
    written.push({ orb: id, path: await writeOrb(context.dir, documentOf(orb, id)), revision: orb.revision });
  }
  context.result(written, () =>
    written.length === 0
      ? "The platform has no orbs yet. Run: orb init <id>"
      : written.map(({ orb, path, revision }) => `${orb} revision ${revision} → ${path}`),
  );
  return 0;
}

/** Compares the file of an application with the platform's newest revision. */
export async function compare(context: Context, id: string, change?: string): Promise<Difference> {
  const [local, orb] = await Promise.all([readOrb(context.dir, id), remote(context, id, change)]);
  if (orb === null) return { orb: id, state: "new" };
  if (textOf(local) === textOf(documentOf(orb, id))) return { orb: id, state: "same" };
  const effects = await manage<Effects>(context, "PUT", pathOf(id), {
    query: { dryRun: "true", ...within(change) },
    body: local,
  });
  // The texts may differ only in defaults that the platform has added. Then the documents mean the same.
  if (effects.summary.length === 0) return { orb: id, state: "same" };
  return { orb: id, state: "different", ...effects };
}

function linesOf(context: Context, difference: Difference): string[] {
  const { color } = context;
  const { orb, state } = difference;
  if (state === "same") return [color("dim", `${orb}: no differences`)];
  if (state === "new") return [color("green", `${orb}: new orb`)];
  const { summary, impact, refused } = difference;
  return [
    color("bold", `${orb}:`),
    ...summary.map((line) => `  ${line}`),
    ...impact.changes.flatMap(({ module, schema, message, entries, refused: stops, lossy }) => [
      `  ${color(stops ? "red" : "yellow", stops ? "refused" : "effect")} ${module}/${schema}: ${message} (${entries} entries)`,
      ...(lossy?.examples ?? []).map(({ id, reason }) => `    ${id} ${reason}`),
      ...(lossy !== undefined && lossy.entries > lossy.examples.length
        ? [`    and ${lossy.entries - lossy.examples.length} more entries`]
        : []),
    ]),
    ...impact.duplicates.map(
      ({ module, schema, field, ids }) =>
        `  ${color("red", "refused")} ${module}/${schema}: the entries ${ids.join(", ")} have the same ${field}`,
    ),
    ...impact.invalid
      .filter(({ invalid }) => invalid > 0)
      .map(
        ({ module, schema, checked, invalid }) =>
          `  ${color("yellow", "effect")} ${module}/${schema}: ${invalid} of ${checked} checked entries need changes at their next write`,
      ),
    ...(refused ? [color("red", "  The platform refuses to publish this change. See the lines above.")] : []),
  ];
}

/** Returns the chosen ids: one, if the command is about a change set, which belongs to one orb. */
async function chosenFor(
  context: Context,
  given: readonly string[],
  change: string | undefined,
): Promise<string[]> {
  const ids = await chosen(context, given);
  if (change === undefined || ids.length === 1) return ids;
  throw new CommandError("--change takes one orb, because a change set belongs to one. Name its id.");
}

/** Writes the file of an application into a change set. */
async function pushInto(
  context: Context,
  given: readonly string[],
  { publish, force, change }: { publish: boolean; force: boolean; change: string },
): Promise<number> {
  if (publish)
    throw new CommandError("--publish has no meaning with --change. Publish the change set instead.");
  const [id = ""] = await chosenFor(context, given, change);
  const document = await readOrb(context.dir, id);
  // Read the number of the version before the document, so that the push cannot overwrite a newer one.
  const path = `${pathOf(id)}/changes/${encodeURIComponent(change)}`;
  const set = await manage<{ definition: { revision: number } | null }>(context, "GET", path);
  const before = await remote(context, id, change);
  if (before === null) throw new CommandError(`The platform has no orb ${id}. Run: orb push ${id}`);
  const changed = textOf(document) !== textOf(documentOf(before, id));
  if (changed)
    await manage<Answer>(context, "PUT", pathOf(id), {
      query: { change, ...(force ? { force: "true" } : {}) },
      body: document,
      headers: { "if-match": `"${set.definition?.revision ?? before.revision}"` },
    });
  context.result({ orb: id, change, changed }, () =>
    changed
      ? `${id}: written into the change set. See it with: orb change diff ${id} ${change}`
      : `${id}: no changes`,
  );
  return 0;
}

/**
 * Prints what a push would change, and the effects on stored entries.
 * @returns 2 if any application differs, otherwise 0
 */
export async function diff(
  context: Context,
  given: readonly string[],
  { change }: { change?: string | undefined } = {},
): Promise<number> {
  const differences: Difference[] = [];
  for (const id of await chosenFor(context, given, change))
    differences.push(await compare(context, id, change));
  context.result(differences, () => differences.flatMap((each) => linesOf(context, each)));
  return differences.every(({ state }) => state === "same") ? 0 : DIFFERENT;
}

/**
 * Uploads local files as drafts. If the document of an application has not changed, creates no new revision.
 * @param options.publish also publishes the applications
 * @param options.force allows changes that the platform otherwise rejects, such as removing a field that has values
 */
export async function push(
  context: Context,
  given: readonly string[],
  options: { publish: boolean; force: boolean; change?: string | undefined },
): Promise<number> {
  if (options.change !== undefined) return pushInto(context, given, { ...options, change: options.change });
  const pushed: { orb: string; revision: number; published: boolean; changed: boolean }[] = [];
  const query: Record<string, string> = {
    ...(options.publish ? { publish: "true" } : {}),
    ...(options.force ? { force: "true" } : {}),
  };
  for (const id of await chosen(context, given)) {
    const [document, before] = await Promise.all([readOrb(context.dir, id), remote(context, id)]);
    const same = before !== null && textOf(document) === textOf(documentOf(before, id));
    const live = before?.publishedRevision === before?.revision;
    let after: Answer | null = before;
    if (before === null) {
      const { force: _, ...flags } = query;
      after = await manage<Answer>(context, "POST", "/api/admin/orbs", { query: flags, body: document });
    } else {
      // Send If-Match with the revision that was compared, so that the push cannot overwrite a newer change.
      const headers = { "if-match": `"${before.revision}"` };
      if (!same) after = await manage<Answer>(context, "PUT", pathOf(id), { query, body: document, headers });
      else if (options.publish && !live)
        after = await manage<Answer>(context, "POST", `${pathOf(id)}/publish`, { headers });
    }
    if (after === null) continue;
    const published = after.publishedRevision === after.revision;
    pushed.push({
      orb: id,
      revision: after.revision,
      published,
      changed: after.revision !== before?.revision,
    });
  }
  context.result(pushed, () =>
    pushed.map(({ orb, revision, published, changed }) => {
      const state = published ? "published" : `draft; publish it with: orb push ${orb} --publish`;
      return changed
        ? `${orb}: revision ${revision} (${state})`
        : `${orb}: no changes (revision ${revision}, ${state})`;
    }),
  );
  return 0;
}

/** The commands `orb change …`. */
import {
  type ChangeComment,
  type ChangeContent,
  type ChangedEntry,
  type ChangeSet,
  type ChangeState,
  type Changes,
  changesOf,
  type ListedChange,
} from "../../shared/client/changes.ts";
import { definitionLines, entryLines } from "./change-diff.ts";
import { CommandError, type Context, manage } from "./command/context.ts";
import { pagesOf } from "./command/pages.ts";

/** Exit code of `orb change diff` if the set cannot be published because of conflicts. */
const CONFLICTS = 2;
/** Exit code of `orb change diff --exit-code` if the set changes something. */
const DIFFERENCES = 1;
const LARGEST_PAGE = 200;

interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

/** Reads all pages of a list as one, or the pages that hold the first `most` items. */
async function allOf<T, P extends PageOf<T>>(
  read: (page: { cursor?: string; limit: number }) => Promise<P & PageOf<T>>,
  most = Number.POSITIVE_INFINITY,
): Promise<PageOf<T> & { pages: P[] }> {
  const pages: P[] = [];
  const items: T[] = [];
  let nextCursor: string | null = null;
  const next = (at: { cursor?: string }) =>
    read({ ...at, limit: Math.min(LARGEST_PAGE, most - items.length) });
  for await (const page of pagesOf(next)) {
    pages.push(page);
    items.push(...page.items);
    ({ nextCursor } = page);
    if (items.length >= most) break;
  }
  return { items, nextCursor, pages };
}

/** A change set of an orb. */
export interface InOrb {
  orb: string;
  id: string;
}

const setsOf = ({ transport }: Context, orb: string): Changes =>
  changesOf(transport, `/api/${encodeURIComponent(orb)}`);

const day = (time: string) => time.slice(0, 10);

const count = (number: number, noun: string, plural = `${noun}s`) =>
  `${number} ${number === 1 ? noun : plural}`;

/** Returns what a set is and whether it has the approvals that it needs. */
function stateOf({ state, entries, review }: ChangeSet): string {
  const needed = review.map(({ approvals, given, by }) => `${given} of ${approvals} by ${by.join(" or ")}`);
  const approvals = needed.length === 0 ? "" : `, approvals: ${needed.join(", ")}`;
  return `${state}, ${count(entries, "entry", "entries")}${approvals}`;
}

/** Returns when a set is to be published, and why it was not. */
function plannedFor({ publishAt, plannedBy, refused }: ChangeSet): string[] {
  return [
    ...(publishAt === null ? [] : [`publication at ${publishAt} by ${plannedBy}`]),
    ...(refused === null
      ? []
      : [`not published at ${refused.publishAt}: ${refused.detail} (${refused.code})`]),
  ];
}

/** Returns the set whose content a decision is about. With a hash, it is about this content only. */
const contentOf = (id: string, hash: string | undefined): string | ChangeContent =>
  hash === undefined ? id : { id, hash };

/** Opens a set, and prints its id on standard output. */
export async function openChange(
  context: Context,
  { orb, title, description }: { orb: string; title: string; description: string | undefined },
): Promise<number> {
  const set = await setsOf(context, orb).open({
    title,
    ...(description === undefined ? {} : { description }),
  });
  context.note(`Opened ${set.title}. Write into it with ?change=${set.id}`);
  context.result(set, () => set.id);
  return 0;
}

export async function listChanges(
  context: Context,
  {
    orb,
    state,
    author,
    limit,
  }: { orb: string; state: ChangeState | undefined; author: string | undefined; limit: number },
): Promise<number> {
  const wanted = {
    ...(state === undefined ? {} : { state }),
    ...(author === undefined ? {} : { author }),
  };
  const { items, nextCursor } = await allOf<ListedChange, PageOf<ListedChange>>(
    (page) => setsOf(context, orb).list({ ...wanted, ...page }),
    limit,
  );
  if (nextCursor !== null) context.note(`There are more change sets. Show them with --limit.`);
  context.result({ items, nextCursor }, () =>
    items.length === 0
      ? "There are no change sets."
      : items.map((set) => `${set.id}  ${set.state.padEnd(9)}  ${day(set.createdAt)}  ${set.title}`),
  );
  return 0;
}

/** Prints a set, its decisions, and the comments that are not resolved. */
export async function showChange(context: Context, { orb, id }: InOrb): Promise<number> {
  const sets = setsOf(context, orb);
  const [set, { items: comments }] = await Promise.all([
    sets.get(id),
    allOf<ChangeComment, PageOf<ChangeComment>>((page) => sets.comments(id, page)),
  ]);
  context.result({ ...set, comments }, () => [
    `${context.color("bold", set.title)} (${set.id})`,
    ...(set.description === null ? [] : [set.description]),
    stateOf(set),
    ...plannedFor(set),
    `opened ${day(set.createdAt)} by ${set.createdBy}`,
    `content ${set.hash}`,
    ...set.approvals.map(({ by, at, hash, comment }) => {
      const isOld = hash === set.hash ? "" : ", of earlier content";
      return `approved ${day(at)} by ${by}${isOld}${comment === null ? "" : `: ${comment}`}`;
    }),
    ...(set.rejection === null
      ? []
      : [`rejected ${day(set.rejection.at)} by ${set.rejection.by}: ${set.rejection.comment}`]),
    ...comments
      .filter(({ resolved }) => resolved === null)
      .map(({ by, at, entry, field, text }) => {
        const about = entry === null ? "" : ` on ${entry}${field === null ? "" : ` ${field}`}`;
        return `comment ${day(at)} by ${by}${about}: ${text}`;
      }),
  ]);
  return 0;
}

type DiffPage = Awaited<ReturnType<ReturnType<typeof setsOf>["diff"]>>;

/**
 * Prints every entry of a set and what it changes.
 * @returns 2 if there are conflicts in the entries that the caller may read, 1 with `exitCode` if the set changes something
 */
export async function diffChange(
  context: Context,
  { orb, id, exitCode }: InOrb & { exitCode: boolean },
): Promise<number> {
  const { items, nextCursor, pages } = await allOf<ChangedEntry, DiffPage>((page) =>
    setsOf(context, orb).diff(id, page),
  );
  const definition = pages[0]?.definition ?? null;
  const hidden = pages.reduce((sum, page) => sum + page.hidden, 0);
  if (hidden > 0)
    context.note(`You may not read ${hidden} more of its entries. Their conflicts are not shown.`);
  const has = items.length > 0 || hidden > 0 || definition !== null;
  context.result({ definition, items, hidden, nextCursor }, () =>
    has
      ? [
          ...definitionLines(definition, context.color),
          ...items.flatMap((entry) => entryLines(entry, context.color)),
        ]
      : "The change set has no entries.",
  );
  const isConflict = definition?.conflict === true || items.some(({ conflicts }) => conflicts.length > 0);
  return isConflict ? CONFLICTS : exitCode && has ? DIFFERENCES : 0;
}

/** @param options.entry `module/schema/id` that the comment is about */
export async function commentChange(
  context: Context,
  { orb, id, text, entry, field }: InOrb & { text: string } & Record<"entry" | "field", string | undefined>,
): Promise<number> {
  const about = {
    ...(entry === undefined ? {} : { entry }),
    ...(field === undefined ? {} : { field }),
  };
  const comment = await setsOf(context, orb).comment(id, { text, ...about });
  context.result(comment, () => comment.id);
  return 0;
}

/** Returns which value stays for each conflict: `/values/price=live` keeps the live one. */
function keptIn(keep: readonly string[]): Record<string, "change" | "live"> {
  return Object.fromEntries(
    keep.map((text) => {
      const at = text.lastIndexOf("=");
      const side = text.slice(at + 1);
      if (at > 0 && (side === "change" || side === "live")) return [text.slice(0, at), side];
      throw new CommandError(`--keep takes a conflict and a side, such as /values/price=live, not ${text}.`);
    }),
  );
}

/**
 * Lets the version of an entry start from the live revision of now.
 * @param options.entry without it, the definition of the orb in the set is merged with the live one
 */
export async function rebaseChange(
  context: Context,
  { orb, id, entry, keep }: InOrb & { entry: string | undefined; keep: readonly string[] },
): Promise<number> {
  if (entry === undefined) return rebaseDefinition(context, { orb, id, keep });
  const rebased = await setsOf(context, orb).rebase(id, entry, keptIn(keep));
  const { module, schema, revision } = rebased;
  context.result(rebased, () => `${module}/${schema}/${rebased.id} (revision ${revision})`);
  return 0;
}

async function rebaseDefinition(
  context: Context,
  { orb, id, keep }: InOrb & { keep: readonly string[] },
): Promise<number> {
  const [at, set] = [orb, id].map(encodeURIComponent);
  const path = `/api/admin/orbs/${at}/changes/${set}/definition/rebase`;
  const made = await manage<{ revision: number }>(context, "POST", path, { body: { keep: keptIn(keep) } });
  context.result(made, () => `The definition in the change set follows revision ${made.revision} of ${orb}.`);
  return 0;
}

export async function requestReview(context: Context, { orb, id }: InOrb): Promise<number> {
  const set = await setsOf(context, orb).review(id);
  context.result(set, () => stateOf(set));
  return 0;
}

/** @param options.hash approves only this content */
export async function approveChange(
  context: Context,
  { orb, id, hash, comment }: InOrb & { hash: string | undefined; comment: string | undefined },
): Promise<number> {
  const options = comment === undefined ? {} : { comment };
  const set = await setsOf(context, orb).approve(contentOf(id, hash), options);
  context.result(set, () => stateOf(set));
  return 0;
}

export async function rejectChange(
  context: Context,
  { orb, id, comment }: InOrb & { comment: string },
): Promise<number> {
  const set = await setsOf(context, orb).reject(id, comment);
  context.result(set, () => stateOf(set));
  return 0;
}

/**
 * @param options.time ISO 8601; `none` gives the plan up
 * @param options.hash plans only this content
 */
export async function scheduleChange(
  context: Context,
  { orb, id, time, hash }: InOrb & { time: string; hash: string | undefined },
): Promise<number> {
  const publishAt = time === "none" ? null : time;
  if (publishAt === null && hash !== undefined)
    throw new CommandError("--hash names the content to plan, so it cannot be used with none.");
  const set = await setsOf(context, orb).patch(id, { publishAt, ...(hash === undefined ? {} : { hash }) });
  context.result(set, () => [stateOf(set), ...plannedFor(set)]);
  return 0;
}

/** @param options.hash publishes only this content */
export async function publishChange(
  context: Context,
  { orb, id, hash }: InOrb & { hash: string | undefined },
): Promise<number> {
  const published = await setsOf(context, orb).publish(contentOf(id, hash));
  context.result(published, () =>
    published.items.map(
      ({ module, schema, id: entry, revision, status }) =>
        `${status} ${module}/${schema}/${entry} (revision ${revision})`,
    ),
  );
  return 0;
}

/** Opens a set that takes another one back, and prints its id on standard output. */
export async function revertChange(context: Context, { orb, id }: InOrb): Promise<number> {
  const set = await setsOf(context, orb).revert(id);
  context.note(
    `Opened a change set that takes ${id} back. Publish it with: orb change publish ${orb} ${set.id}`,
  );
  context.result(set, () => set.id);
  return 0;
}

/** Opens a set that takes back what an API token has published, and prints its id on standard output. */
export async function undoToken(
  context: Context,
  { orb, token, cursor }: { orb: string; token: string; cursor: string | undefined },
): Promise<number> {
  const set = await setsOf(context, orb).undoToken(token, cursor === undefined ? {} : { cursor });
  const { entries, more, nextCursor } = set;
  context.note(
    `Opened a change set that takes back ${entries} ${entries === 1 ? "entry" : "entries"}. Publish it with: orb change publish ${orb} ${set.id}`,
  );
  const again = nextCursor === null ? "" : ` --cursor ${nextCursor}`;
  if (more) context.note(`There may be more. Then run: orb change undo-token ${orb} ${token}${again}`);
  context.result(set, () => set.id);
  return 0;
}

export async function closeChange(context: Context, { orb, id }: InOrb): Promise<number> {
  await setsOf(context, orb).close(id);
  context.result({ id, state: "CLOSED" }, () => `Closed ${id}.`);
  return 0;
}

/** The review of a change set: what it changes in each entry, word by word, with comments and decisions. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Caller } from "../api/caller.ts";
import {
  type ChangeSet,
  type ChangesPlace,
  type DefinitionDiff,
  diffChange,
  type EntryDiff,
  isActive,
  readChange,
} from "../api/changes.ts";
import { NamesInSet } from "../fields/parts/target.tsx";
import { type OrbModel, titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { setsKey } from "../state/change.ts";
import { useCommands } from "../state/commands.ts";
import { type Loaded, useLoad, useReloadOnShow } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Page } from "../ui/page.tsx";
import { faultsOf, ProblemBox, wordsOf } from "../ui/problem.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { SetActions } from "./actions.tsx";
import { Comments, type Discussion, useDiscussion } from "./comments.tsx";
import { SetDefinition } from "./definition.tsx";
import { ActBadge, Entry, headingOf, useEntryName } from "./entry.tsx";
import { Author, SetState } from "./parts.tsx";
import { rightsIn, type SetRights, useInOrb } from "./place.ts";
import { Standing } from "./standing.tsx";

/** Entries of a page of the comparison. */
const PAGE = 50;
/** Wider windows show the contents beside the entries. */
const WIDE = 1100;

interface Review {
  set: ChangeSet;
  items: readonly EntryDiff[];
  /** Number of entries that the caller may not read. */
  hidden: number;
  hasMore: boolean;
  definition: DefinitionDiff | null;
}

/** Reads of a set that other accounts keep changing. */
const ATTEMPTS = 3;

/**
 * Reads a set, the first pages of its comparison, and the set again. The content must be the same before and after, so
 * an approval never holds for content that the user has not seen.
 */
async function readReview(
  place: ChangesPlace,
  id: string,
  pages: number,
  signal: AbortSignal,
  before?: ChangeSet,
  attempt = 1,
): Promise<Review> {
  const set = before ?? (await readChange(place, id, signal));
  const compared = await readCompared(place, id, pages, signal);
  const after = await readChange(place, id, signal);
  // After the last attempt, the earlier hash makes the platform refuse an approval.
  if (after.hash === set.hash || attempt === ATTEMPTS) return { ...compared, set };
  return readReview(place, id, pages, signal, after, attempt + 1);
}

/** Reads the first pages of the comparison of a set. */
async function readCompared(
  place: ChangesPlace,
  id: string,
  pages: number,
  signal: AbortSignal,
): Promise<Omit<Review, "set">> {
  const items: EntryDiff[] = [];
  let hidden = 0;
  let cursor: string | null = null;
  let definition: DefinitionDiff | null = null;
  for (let page = 0; page < pages; page++) {
    const found = await diffChange(place, id, { limit: PAGE, cursor: cursor ?? undefined }, signal);
    items.push(...found.items);
    hidden += found.hidden;
    definition ??= found.definition;
    cursor = found.nextCursor;
    if (cursor === null) break;
  }
  return { items, hidden, hasMore: cursor !== null, definition };
}

/** Reads the review. While more pages load, the earlier ones stay visible. */
function useReview(place: ChangesPlace, id: string) {
  const [pages, setPages] = useState(1);
  const loaded = useLoad(setsKey(place.orb, id, "review", String(pages)), (signal) =>
    readReview(place, id, pages, signal),
  );
  const last = useRef<Review>();
  if (loaded.data !== undefined) last.current = loaded.data;
  const review: Loaded<Review> = { ...loaded, data: loaded.data ?? last.current };
  return { review, more: () => setPages(pages + 1) };
}

const headings = () => [...document.querySelectorAll<HTMLElement>(".change-entry h3")];

function focusHeading(heading: HTMLElement | null | undefined): void {
  heading?.focus({ preventScroll: true });
  heading?.scrollIntoView({ block: "start" });
}

/** Moves the focus to the heading of the next or the previous entry. */
function step(by: 1 | -1): void {
  const all = headings();
  const own = document.activeElement?.closest(".change-entry")?.querySelector("h3");
  const at = own instanceof HTMLElement ? all.indexOf(own) : -1;
  focusHeading(at < 0 ? all[by > 0 ? 0 : all.length - 1] : all[at + by]);
}

function useReviewKeys(): void {
  useCommands(
    () =>
      [
        { id: "changes.next", title: t("changes.nextEntry"), key: "j", run: () => step(1) },
        { id: "changes.previous", title: t("changes.previousEntry"), key: "k", run: () => step(-1) },
      ].map((command) => ({ ...command, group: t("changes.review") })),
    [],
  );
}

function ContentsItem({ orb, item, comments }: { orb: OrbModel; item: EntryDiff; comments: number }) {
  return (
    <li>
      <LinkToEntry {...{ orb, item }} />
      <ActBadge item={item} />
      {item.conflicts.length === 0 ? null : <Badge tone="bad">{t("changes.conflict")}</Badge>}
      {comments === 0 ? null : <span class="hint">{t("changes.commentCount", { count: comments })}</span>}
    </li>
  );
}

/** Lists the entries of the set. */
function Contents({
  orb,
  items,
  discussion,
}: {
  orb: OrbModel;
  items: readonly EntryDiff[];
  discussion: Discussion;
}) {
  const open = (discussion.comments.data ?? []).filter(({ resolved }) => resolved === null);
  return (
    <nav class="change-contents" aria-label={t("changes.contents")}>
      <details open={innerWidth >= WIDE}>
        <summary>{t("orb.entries", { count: items.length })}</summary>
        <ol>
          {items.map((item) => (
            <ContentsItem
              key={item.id}
              {...{ orb, item }}
              comments={
                open.filter(({ entry }) => entry === `${item.module}/${item.schema}/${item.id}`).length
              }
            />
          ))}
        </ol>
      </details>
    </nav>
  );
}

/** A reason why the set cannot be published, with a button that leads to the entry. */
function Reason({
  orb,
  path,
  message,
  items,
}: {
  orb: OrbModel;
  path: string;
  message: string;
  items: readonly EntryDiff[];
}) {
  const [, module, schema, id = "", ...rest] = path.split("/");
  const item = items.find((one) => one.id === id && one.module === module && one.schema === schema);
  if (item === undefined)
    return (
      <li>
        <code>{path}</code> {message}
      </li>
    );
  return (
    <li>
      <LinkToEntry {...{ orb, item }} /> {rest.length === 0 ? null : <code>{rest.join("/")}</code>} {message}
    </li>
  );
}

/** A link to the heading of an entry on the page. */
function LinkToEntry({ orb, item }: { orb: OrbModel; item: EntryDiff }) {
  const name = useEntryName(orb, item);
  return (
    <button
      type="button"
      class="link"
      dir="auto"
      onClick={() => focusHeading(document.getElementById(headingOf(item.id)))}
    >
      {name}
    </button>
  );
}

/** Shows why an action was refused: all reasons, with the entries that they concern. */
function Refused({ error, orb, items }: { error: unknown; orb: OrbModel; items: readonly EntryDiff[] }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: "nearest" });
  }, [error]);
  const faults = faultsOf(error);
  return (
    <div ref={box} tabIndex={-1} class="change-refused">
      {faults.length === 0 ? (
        <ProblemBox error={error} />
      ) : (
        <div class="problem" role="alert">
          <div>
            <p>{wordsOf(error)}</p>
            <ul>
              {faults.map(({ path, message }) => (
                <Reason key={`${path} ${message}`} {...{ orb, items, path, message }} />
              ))}
            </ul>
          </div>
        </div>
      )}
    </div>
  );
}

function Entries({
  place,
  orb,
  review: { set, items, hidden, hasMore },
  rights,
  discussion,
  more,
}: {
  place: ChangesPlace;
  orb: OrbModel;
  review: Review;
  rights: SetRights;
  discussion: Discussion;
  more: () => void;
}) {
  useReviewKeys();
  const mayWrite = rights.write && isActive(set);
  if (set.entries === 0 && set.definition !== null) return null;
  if (set.entries === 0)
    return (
      <Empty icon="gitPullRequest" title={t("changes.empty")}>
        <p>{t(isActive(set) ? "changes.emptyText" : "changes.emptyOver")}</p>
      </Empty>
    );
  return (
    <div class="change-review">
      <Contents {...{ orb, items, discussion }} />
      <div class="change-entries">
        {items.map((item) => (
          <Entry key={item.id} {...{ place, orb, item, discussion, mayWrite }} />
        ))}
        {hidden === 0 ? null : <p class="hint">{t("changes.hidden", { count: hidden })}</p>}
        {hasMore ? <Button onClick={more}>{t("changes.more")}</Button> : null}
      </div>
    </div>
  );
}

function Lead({ orb, set }: { orb: string; set: ChangeSet }) {
  return (
    <>
      <p class="change-lead">
        <SetState state={set.state} />{" "}
        <Author orb={orb} by={set.createdBy} token={set.token} through={set.through} /> ·{" "}
        <Time at={set.createdAt} /> · {t("orb.entries", { count: set.entries })}
      </p>
      {set.description === null ? null : (
        <p class="change-words" dir="auto">
          {set.description}
        </p>
      )}
    </>
  );
}

function Reviewing({
  place,
  orb,
  caller,
  id,
}: {
  place: ChangesPlace;
  orb: OrbModel;
  caller: Caller;
  id: string;
}) {
  const { review, more } = useReview(place, id);
  useReloadOnShow(review);
  const discussion = useDiscussion(place, id, review.data?.set);
  const [error, setError] = useState<unknown>();
  const { data } = review;
  const rights = data === undefined ? undefined : rightsIn(caller, orb, data.set);
  return (
    <Page
      wide
      title={data?.set.title ?? t("changes.set")}
      path={[
        { label: titleOf(orb), to: orbLink(orb.id) },
        { label: t("nav.changes"), to: orbLink(orb.id, "changes") },
      ]}
      lead={data === undefined ? undefined : <Lead orb={orb.id} set={data.set} />}
      actions={
        data === undefined || rights === undefined ? undefined : (
          <SetActions
            {...{ place, rights }}
            set={data.set}
            unseen={data.hasMore ? Math.max(1, data.set.entries - data.items.length - data.hidden) : 0}
            onError={setError}
          />
        )
      }
    >
      <Shows of={review}>
        {(shown) => (
          <NamesInSet.Provider value={shown.set.id}>
            {error === undefined ? null : <Refused {...{ error, orb }} items={shown.items} />}
            <Standing set={shown.set} orb={orb} />
            <section class="card change-talk" aria-labelledby="comments">
              <h2 id="comments">{t("changes.comments")}</h2>
              <Shows of={discussion.comments}>
                {() => <Comments discussion={discussion} about={{}} name={shown.set.title} />}
              </Shows>
            </section>
            <h2 class="change-heading">{t("changes.changes")}</h2>
            <SetDefinition
              key={shown.set.definition?.revision}
              {...{ place }}
              set={shown.set}
              diff={shown.definition}
              mayWrite={place.managed && isActive(shown.set)}
            />
            <Entries
              {...{ place, orb, discussion, more }}
              review={shown}
              rights={rights ?? rightsIn(caller, orb, shown.set)}
            />
          </NamesInSet.Provider>
        )}
      </Shows>
    </Page>
  );
}

export default function ReviewPage({ params: { orb: id = "", change = "" } }: { params: PageParams }) {
  const { place, caller, orb, loaded } = useInOrb(id, change);
  if (caller === undefined || orb === undefined)
    return (
      <Page title={t("changes.set")}>
        <Shows of={loaded}>{() => null}</Shows>
      </Page>
    );
  return <Reviewing key={change} {...{ place, orb, caller }} id={change} />;
}

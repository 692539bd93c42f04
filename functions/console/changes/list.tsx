/** The change sets of an application. Those that wait for the caller come first. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useLocation, useSearchParams } from "wouter-preact";
import { writesSome } from "../api/caller.ts";
import {
  CHANGE_STATES,
  type ChangeSet,
  type ChangesPlace,
  type ListedChange,
  listChanges,
  openChange,
  readChange,
} from "../api/changes.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { setsKey } from "../state/change.ts";
import { leaveFreely } from "../state/leave.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Link } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Pager } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { Calendar } from "./calendar.tsx";
import { Author, SetState, TitleDialog } from "./parts.tsx";
import { type InOrb, refreshSets, useInOrb, waitsFor } from "./place.ts";

/** Number of sets on a page. The number of entries of each is read with a request of its own. */
const PAGE = 20;

/** The number of entries in a set. The list does not contain it. */
function EntryCount({ place, id }: { place: ChangesPlace; id: string }) {
  const { data } = useLoad(setsKey(place.orb, id, "set"), (signal) => readChange(place, id, signal));
  return (
    <span class="change-count">{data === undefined ? "" : t("orb.entries", { count: data.entries })}</span>
  );
}

function Item({ place, set }: { place: ChangesPlace; set: ListedChange }) {
  const { orb } = place;
  return (
    <li>
      <div class="change-name">
        <Link to={orbLink(orb, "changes", set.id)}>
          <bdi>{set.title}</bdi>
        </Link>
        <SetState state={set.state} />
      </div>
      <p class="hint">
        <Author orb={orb} by={set.createdBy} token={set.token} through={set.through} /> ·{" "}
        <Time at={set.changedAt} /> · <EntryCount {...{ place }} id={set.id} />
      </p>
    </li>
  );
}

/** Sets in review whose rules the inbox reads. Each takes a request. */
const REVIEWED = 50;

interface Waiting {
  sets: ChangeSet[];
  /** Whether there are sets in review that were not read. */
  hasMore: boolean;
}

/** Reads the newest sets in review, with what their rules still demand. */
async function readWaiting(place: ChangesPlace, signal: AbortSignal): Promise<Waiting> {
  const { items, nextCursor } = await listChanges(place, { state: "IN_REVIEW", limit: REVIEWED }, signal);
  const read = await Promise.allSettled(items.map(({ id }) => readChange(place, id, signal)));
  const sets = read.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const [failed] = read.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  // A set that is gone since waits for nobody. If none can be read, the reason concerns them all.
  if (sets.length === 0 && failed !== undefined) throw failed;
  return { sets, hasMore: nextCursor !== null || sets.length < items.length };
}

function Listed({
  id,
  title,
  place,
  sets,
  children,
}: {
  id: string;
  title: string;
  place: ChangesPlace;
  sets: readonly ListedChange[];
  children?: ComponentChildren;
}) {
  return (
    <section class="card change-inbox" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul class="change-list">
        {sets.map((set) => (
          <Item key={set.id} {...{ place, set }} />
        ))}
      </ul>
      {children}
    </section>
  );
}

/** The sets with open comments that mention the caller. */
function Mentions({ place, account }: { place: ChangesPlace; account: string }) {
  const { data } = useLoad(setsKey(place.orb, "mentions"), (signal) =>
    listChanges(place, { mentions: account, limit: PAGE }, signal),
  );
  if (data === undefined || data.items.length === 0) return null;
  return <Listed id="mentions" title={t("changes.mentioned")} place={place} sets={data.items} />;
}

/** The sets in review that the caller may approve. */
function Inbox({ place, caller, orb }: InOrb) {
  const { data, error } = useLoad(setsKey(place.orb, "waiting"), (signal) => readWaiting(place, signal));
  if (error !== undefined) return <ProblemBox error={error} />;
  if (data === undefined || caller === undefined || orb === undefined) return null;
  const waiting = data.sets.filter((set) => waitsFor(caller, orb, set));
  if (waiting.length === 0 && !data.hasMore) return null;
  return (
    <Listed id="waiting" title={t("changes.waiting")} place={place} sets={waiting}>
      {data.hasMore ? (
        <p class="hint">
          <Link to={`${orbLink(place.orb, "changes")}?state=IN_REVIEW`}>{t("changes.waitingMore")}</Link>
        </p>
      ) : null}
    </Listed>
  );
}

/** Opens a set, and shows it. */
function Opening({ place, onClose }: { place: ChangesPlace; onClose: () => void }) {
  const [, go] = useLocation();
  return (
    <TitleDialog
      title={t("changes.open")}
      action={t("changes.openAction")}
      start={{ title: "", description: "" }}
      onClose={onClose}
      onSend={async ({ title, description }) => {
        const { id } = await openChange(place, {
          title,
          ...(description.trim() === "" ? {} : { description }),
        });
        refreshSets(place.orb);
        onClose();
        leaveFreely();
        go(orbLink(place.orb, "changes", id));
      }}
    />
  );
}

/** The list of one state or of all, page by page. */
function Sets({ place, onOpen }: { place: ChangesPlace; onOpen: (() => void) | undefined }) {
  const [search, setSearch] = useSearchParams();
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const state = CHANGE_STATES.find((one) => one === search.get("state"));
  const cursor = cursors.at(-1);
  const sets = useLoad(setsKey(place.orb, `list?state=${state ?? ""}&cursor=${cursor ?? ""}`), (signal) =>
    listChanges(place, { state, limit: PAGE, cursor }, signal),
  );
  const choose = (chosen: string) => {
    setCursors([]);
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        if (chosen === "") next.delete("state");
        else next.set("state", chosen);
        return next;
      },
      { replace: true },
    );
  };
  return (
    <section class="change-sets" aria-labelledby="sets">
      <div class="change-sets-head">
        <h2 id="sets">{t("changes.all")}</h2>
        <select
          aria-label={t("table.state")}
          value={state ?? ""}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          <option value="">{t("table.anyState")}</option>
          {CHANGE_STATES.map((one) => (
            <option key={one} value={one}>
              {t(`changes.state-${one}`)}
            </option>
          ))}
        </select>
      </div>
      <Shows of={sets}>
        {({ items, nextCursor }) =>
          items.length === 0 && nextCursor === null && cursors.length === 0 ? (
            <Empty icon="gitPullRequest" title={t(state === undefined ? "changes.none" : "changes.noneSuch")}>
              <p>{t("changes.noneText")}</p>
              {onOpen === undefined || state !== undefined ? null : (
                <Button kind="primary" icon="plus" onClick={onOpen}>
                  {t("changes.open")}
                </Button>
              )}
            </Empty>
          ) : (
            <>
              <ul class="change-list card">
                {items.map((set) => (
                  <Item key={set.id} {...{ place, set }} />
                ))}
              </ul>
              <Pager cursors={cursors} next={nextCursor} onChange={setCursors} />
            </>
          )
        }
      </Shows>
    </section>
  );
}

export default function Changes({ params: { orb: id = "" } }: { params: PageParams }) {
  const inOrb = useInOrb(id);
  const { place, caller, orb } = inOrb;
  const [opening, setOpening] = useState(false);
  const onOpen = writesSome(caller) ? () => setOpening(true) : undefined;
  return (
    <Page
      title={t("nav.changes")}
      lead={t("changes.lead")}
      path={[{ label: orb === undefined ? id : titleOf(orb), to: orbLink(id) }]}
      actions={
        onOpen === undefined ? undefined : (
          <Button kind="primary" icon="plus" onClick={onOpen}>
            {t("changes.open")}
          </Button>
        )
      }
    >
      {caller === undefined ? null : (
        <>
          <Inbox {...inOrb} />
          {caller.account === null ? null : <Mentions place={place} account={caller.account.id} />}
          <Calendar {...{ place, orb }} />
          <Sets {...{ place, onOpen }} />
        </>
      )}
      {opening ? <Opening place={place} onClose={() => setOpening(false)} /> : null}
    </Page>
  );
}

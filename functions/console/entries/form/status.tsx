/**
 * The state of the entry: what visitors see, who last changed it, and how the draft differs from the published version.
 */
import { useState } from "preact/hooks";
import { readOne } from "../../api/batch.ts";
import { type EntryItem, type EntryPlace, readEntry } from "../../api/entries.ts";
import { type Cell, type Content, differing } from "../../model/cells.ts";
import type { OrbModel } from "../../model/orb.ts";
import { useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { StateBadge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Link } from "../../ui/link.tsx";
import { ProblemBox } from "../../ui/problem.tsx";
import { Time } from "../../ui/time.tsx";
import { Difference } from "../difference.tsx";
import { stateWords } from "./parts/words.ts";
import { contentOf } from "./state/draft.ts";

/** Loads the published revision for a comparison with the form. Loads nothing if the form shows the same content. */
function useLive(place: EntryPlace, entry: EntryItem, isChanged: boolean) {
  const { id, publishedRevision, revision } = entry;
  const needed = publishedRevision !== null && (publishedRevision < revision || isChanged);
  return useLoad(needed ? `orbs/${place.orb}/live/${id}/${publishedRevision}` : null, (signal) =>
    readEntry(place, id, { query: { revision: "published" }, signal }),
  );
}

/** Loads the live version of an entry that the user edits in a change set, and whether there is an entry at all. */
function useOutside(place: EntryPlace, id: string) {
  const outside = { ...place, change: undefined };
  return useLoad(`orbs/${place.orb}/outside/${id}`, async (signal) => {
    const found = await readOne(outside, id, { fields: ["id"], drafts: true });
    if (found === null || found.publishedRevision === null) return { live: null, isNew: found === null };
    const live = await readEntry(outside, id, { query: { revision: "published" }, signal });
    return { live, isNew: false };
  });
}

/** The entry as it will be after the publication of the change set, compared with the live version. */
function InSet({
  entry,
  place,
  orb,
  cells,
  content,
}: Pick<StatusProps, "entry" | "place" | "orb" | "cells" | "content">) {
  const [open, setOpen] = useState(false);
  const { data: outside, error } = useOutside(place, entry.id);
  const live = outside?.live;
  const before: Content = live ?? { values: {}, validFrom: null, validTo: null };
  const count = live === undefined ? 0 : differing(cells, before, content).length;
  return (
    <section class="card entry-status" aria-label={t("entry.state")}>
      <p>
        <StateBadge of={entry} />
      </p>
      <p>{t("entry.inSet")}</p>
      <p class="hint">{t(outside?.isNew === true ? "entry.inSetNew" : "entry.inSetState")}</p>
      {error === undefined ? null : <ProblemBox error={error} />}
      {live === undefined ? null : count === 0 ? (
        <p class="hint">{t("entry.sameAsLive")}</p>
      ) : (
        <div class="entry-differs">
          <p>{t("entry.differsInSet", { count })}</p>
          <Button size="small" onClick={() => setOpen(true)}>
            {t("entry.compare")}
          </Button>
        </div>
      )}
      {open && live !== undefined ? (
        <Dialog wide title={t("entry.liveAndSet")} onClose={() => setOpen(false)}>
          <Difference
            {...{ cells, orb }}
            before={{ title: t("entry.live"), content: before }}
            after={{ title: t("entry.proposed"), content }}
          />
        </Dialog>
      ) : null}
    </section>
  );
}

interface StatusProps {
  entry: EntryItem;
  place: EntryPlace;
  orb: OrbModel;
  cells: readonly Cell[];
  content: Content;
  isChanged: boolean;
  nameOf: (account: string) => string;
  /** Path of the history, if the caller may read it. */
  history: string | undefined;
  /** False for transaction records and settings, which users cannot publish. */
  isPublishable: boolean;
}

/** The state of the entry; in a change set, the state that the set gives it. */
export function Status(props: StatusProps) {
  return props.place.change === undefined ? <OwnStatus {...props} /> : <InSet {...props} />;
}

function OwnStatus({
  entry,
  place,
  orb,
  cells,
  content,
  isChanged,
  nameOf,
  history,
  isPublishable,
}: StatusProps) {
  const [open, setOpen] = useState(false);
  const live = useLive(place, entry, isChanged);
  const differs = live.data === undefined ? [] : differing(cells, live.data, content);
  return (
    <section class="card entry-status" aria-label={t("entry.state")}>
      {isPublishable ? (
        <>
          <p>
            <StateBadge of={entry} />
          </p>
          <p>{stateWords(entry, live.data ?? entry, new Date())}</p>
        </>
      ) : null}
      {live.error === undefined ? null : <ProblemBox error={live.error} />}
      {live.data === undefined ? null : differs.length === 0 ? (
        <p class="hint">{t("entry.sameAsLive")}</p>
      ) : (
        <div class="entry-differs">
          <p>{t("entry.differs", { count: differs.length })}</p>
          <Button size="small" onClick={() => setOpen(true)}>
            {t("entry.compare")}
          </Button>
        </div>
      )}
      <dl class="entry-facts">
        <div>
          <dt>{t("entry.changed")}</dt>
          <dd>
            <Time at={entry.updatedAt} /> · {nameOf(entry.updatedBy)}
          </dd>
        </div>
        <div>
          <dt>{t("entry.createdAt")}</dt>
          <dd>
            <Time at={entry.createdAt} /> · {nameOf(entry.createdBy)}
          </dd>
        </div>
        <div>
          <dt>{t("entry.revision")}</dt>
          <dd>
            {history === undefined ? (
              entry.revision
            ) : (
              <Link to={history}>{t("entry.revisionHistory", { revision: entry.revision })}</Link>
            )}
          </dd>
        </div>
      </dl>
      {open && live.data !== undefined ? (
        <Dialog wide title={t("entry.liveAndDraft")} onClose={() => setOpen(false)}>
          <Difference
            {...{ cells, orb }}
            before={{ title: t("entry.live"), content: contentOf(live.data) }}
            after={{ title: t("entry.draft"), content }}
          />
        </Dialog>
      ) : null}
    </section>
  );
}

/** Adds entries to a change set: their drafts, or what the user has typed in the form. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { Caller } from "../api/caller.ts";
import {
  type ChangesPlace,
  isActive,
  type ListedChange,
  listAllChanges,
  openChange,
} from "../api/changes.ts";
import {
  type EntryChange,
  type EntryItem,
  type EntryPlace,
  moveEntry,
  readEntry,
  updateEntry,
} from "../api/entries.ts";
import { valuesToSend } from "../model/cells.ts";
import type { OrbModel, SchemaModel } from "../model/orb.ts";
import { orbLink } from "../shell/nav.ts";
import { useAction } from "../state/action.ts";
import { refresh } from "../state/cache.ts";
import { setsKey } from "../state/change.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, ProblemBox, wordsOf } from "../ui/problem.tsx";
import { Shows } from "../ui/states.tsx";
import { say } from "../ui/toast.tsx";
import { rightsOf } from "./rights.ts";

/** Returns whether a set contains an entry already. */
async function isIn(sets: ChangesPlace, set: string, { module, schema }: EntryPlace, id: string) {
  const { items } = await listAllChanges(sets, { entry: `${module}/${schema}/${id}` });
  return items.some((one) => one.id === set);
}

/** Returns whether an entry has a draft that a set can publish. */
export const hasDraft = ({
  status,
  revision,
  publishedRevision,
}: Pick<EntryItem, "status" | "revision" | "publishedRevision">): boolean =>
  status === "SAVED" ||
  status === "UNPUBLISHED" ||
  (status === "PUBLISHED" && publishedRevision !== null && publishedRevision < revision);

/** The content of a form, and the revision that it is based on. */
export interface TypedContent {
  base: number;
  change: EntryChange;
}

export interface Source {
  caller: Caller;
  orb: OrbModel;
  module: { id: string; type: OrbModel["modules"][number]["type"] };
  schema: SchemaModel;
}

/** Writes the newest revision of an entry, or other content, into a set that does not contain the entry. */
async function add(
  place: EntryPlace,
  set: string,
  { source, id, content }: { source: Source; id: string; content: TypedContent | undefined },
): Promise<void> {
  const within = { ...place, change: set };
  const newest = await readEntry(place, id);
  if (content !== undefined && content.base !== newest.revision) throw new Error(t("table.changedMeanwhile"));
  if (newest.publishedRevision === null && content === undefined) {
    await moveEntry(within, newest, "publish");
    return;
  }
  const revision = newest.publishedRevision ?? newest.revision;
  const { readable, writable } = rightsOf(source.caller, source, newest);
  const fields = source.schema.fields.filter(({ name }) => readable.has(name) && writable.has(name));
  const { validFrom, validTo } = newest;
  const draft = { values: valuesToSend(newest, fields, source.orb), validFrom, validTo };
  await updateEntry(within, { id, revision }, content?.change ?? draft);
}

interface Failure {
  id: string;
  error: unknown;
}

interface AddProps {
  place: EntryPlace;
  source: Source;
  /** The entries to add. */
  ids: readonly string[];
  /** Number of selected entries that have no draft. */
  skipped?: number;
  /** For a single entry: other content than that of its newest revision. */
  content?: TypedContent | undefined;
  nameOf: (id: string) => string;
  /** Called with the id of the set once all entries are in it. */
  onAdded: (set: string) => void;
  onClose: () => void;
}

/**
 * Opens the set if it is a new one, adds the entries one by one, and collects those that fail.
 * @param signal ends the work before the next entry
 */
async function addAll(
  { place, source, ids, content }: AddProps,
  chosen: { set: string; title: string },
  signal: AbortSignal,
): Promise<{ set: string; added: number; failed: Failure[] }> {
  const sets: ChangesPlace = { orb: place.orb, managed: place.managed };
  const set = chosen.set === "" ? (await openChange(sets, { title: chosen.title })).id : chosen.set;
  const failed: Failure[] = [];
  let added = 0;
  for (const id of ids) {
    if (signal.aborted) break;
    try {
      if (chosen.set !== "" && (await isIn(sets, set, place, id))) throw new Error(t("changes.alreadyIn"));
      await add(place, set, { source, id, content });
      added++;
    } catch (error) {
      failed.push({ id, error });
    }
  }
  return { set, added, failed };
}

/** The entries that could not be added, with the reasons. */
function Failures({ failed, nameOf }: { failed: readonly Failure[]; nameOf: (id: string) => string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the list.
    <ul class="failures" tabIndex={0} aria-label={t("table.failures")}>
      {failed.map(({ id, error }) => (
        <li key={id}>
          <bdi>{nameOf(id)}</bdi>
          <span>{wordsOf(error)}</span>
          {faultsOf(error).map(({ path, message }) => (
            <span key={path}>
              <code>{path.replace(/^\/values\//, "")}</code> {message}
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

/** Lets the user choose one of the open sets, or type the title of a new one. */
function SetPicker({
  items,
  chosen,
  title,
  fault,
  onChoose,
  onTitle,
}: {
  items: readonly ListedChange[];
  /** Id of the set; empty for a new one. */
  chosen: string;
  title: string;
  fault: string | undefined;
  onChoose: (set: string) => void;
  onTitle: (title: string) => void;
}) {
  const isReviewed = items.some(({ id, state }) => id === chosen && state !== "OPEN");
  return (
    <>
      <SelectField
        label={t("changes.set")}
        value={chosen}
        onChange={onChoose}
        options={[
          ...items.map(({ id, title: name, state }) => ({
            value: id,
            label: state === "OPEN" ? name : `${name} (${t(`changes.state-${state}`)})`,
          })),
          { value: "", label: t("changes.open") },
        ]}
      />
      {isReviewed ? <p class="dialog-text">{t("changes.endsReview")}</p> : null}
      {chosen === "" ? (
        <TextField label={t("changes.name")} value={title} onChange={onTitle} error={fault} required />
      ) : null}
    </>
  );
}

/** Says what the set takes over, and what not. */
function About({ schema, skipped }: { schema: SchemaModel; skipped: number }) {
  const hasSensitive = schema.fields.some(({ sensitive }) => sensitive === true);
  return (
    <p class="dialog-text">
      {t("changes.addText")} {hasSensitive ? t("changes.addSensitive") : null}{" "}
      {skipped === 0 ? null : t("changes.addSkipped", { count: skipped })}
    </p>
  );
}

/** Returns a signal that ends with the component. */
function useStop(): AbortSignal {
  const stop = useRef(new AbortController());
  useLayoutEffect(() => () => stop.current.abort(), []);
  return stop.current.signal;
}

/** The dialog that adds entries to a set of the user's choice, or to a new one. */
export function AddDialog(props: AddProps) {
  const { place, source, ids, skipped = 0, nameOf, onAdded, onClose } = props;
  const [, go] = useLocation();
  const sets: ChangesPlace = { orb: place.orb, managed: place.managed };
  const open = useLoad(setsKey(place.orb, "open"), async (signal) =>
    (await listAllChanges(sets, {}, signal)).items.filter(isActive),
  );
  const [set, setSet] = useState<string>();
  const [title, setTitle] = useState("");
  const [result, setResult] = useState<{ set: string; failed: Failure[] }>();
  const { busy, error, run } = useAction();
  const { account } = source.caller;
  const own = open.data?.find(({ state, createdBy }) => state === "OPEN" && createdBy === account?.id);
  const chosen = set ?? own?.id ?? "";
  const signal = useStop();
  const send = () =>
    run(async () => {
      const done = await addAll(props, { set: chosen, title }, signal);
      if (signal.aborted) {
        // The dialog is closed: the user may be typing somewhere else, and stays there.
        refresh(setsKey(place.orb));
        if (done.added > 0) say(t("changes.addStopped", { count: done.added }));
      } else if (done.failed.length === 0) onAdded(done.set);
      else setResult(done);
    });
  return (
    <Dialog
      title={t("changes.addTitle", { count: ids.length })}
      onClose={onClose}
      busy={busy}
      actions={
        result === undefined ? (
          <>
            <Button onClick={onClose}>{t("ui.cancel")}</Button>
            <Button
              kind="primary"
              busy={busy}
              disabled={ids.length === 0 || open.data === undefined}
              onClick={() => void send()}
            >
              {t("changes.addAction")}
            </Button>
          </>
        ) : (
          <>
            <Button onClick={onClose}>{t("ui.close")}</Button>
            <Button kind="primary" onClick={() => go(orbLink(place.orb, "changes", result.set))}>
              {t("changes.toSet")}
            </Button>
          </>
        )
      }
    >
      {result !== undefined ? (
        <>
          <p class="dialog-text">{t("changes.notAdded", { count: result.failed.length })}</p>
          <Failures failed={result.failed} nameOf={nameOf} />
        </>
      ) : (
        <Shows of={open}>
          {(items) => (
            <>
              {error === undefined || faultsOf(error).length > 0 ? null : <ProblemBox error={error} />}
              <About schema={source.schema} skipped={skipped} />
              <SetPicker
                {...{ items, chosen, title }}
                fault={faultAt(faultsOf(error), "/title")}
                onChoose={setSet}
                onTitle={setTitle}
              />
            </>
          )}
        </Shows>
      )}
    </Dialog>
  );
}

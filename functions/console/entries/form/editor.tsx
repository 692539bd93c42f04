/** The form of an entry: its fields, its state and its actions. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation, useSearchParams } from "wouter-preact";
import { type Fault, isProblem } from "../../../../shared/client/problem.ts";
import { type Caller, isPlatformAdmin } from "../../api/caller.ts";
import { type EntryItem, type EntryPlace, readEntry } from "../../api/entries.ts";
import type { EntryTarget } from "../../fields/parts/kind.ts";
import { isSingleReference, useTargetName } from "../../fields/parts/target.tsx";
import {
  type Content,
  cellsOf,
  plainLanguage,
  plainValue,
  pointerOf,
  windowCells,
} from "../../model/cells.ts";
import {
  type FieldModel,
  type ModuleModel,
  type OrbModel,
  refsOf,
  type SchemaModel,
  titleField,
  titleOf,
} from "../../model/orb.ts";
import { orbLink } from "../../shell/nav.ts";
import { changeIn } from "../../state/change.ts";
import { leaveFreely, useLeaveGuard } from "../../state/leave.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Page } from "../../ui/page.tsx";
import { faultsOf, otherFaults, ProblemBox } from "../../ui/problem.tsx";
import { complain } from "../../ui/toast.tsx";
import { useNames } from "../names.ts";
import { type Rights, rightsOf } from "../rights.ts";
import { Actions } from "./actions.tsx";
import { Adding, isAddable } from "./adding.tsx";
import { ConflictDialog } from "./conflict.tsx";
import { type Creation, CreationDialog, mayCreateTarget } from "./creation.tsx";
import { type Draft, useDraft } from "./draft.ts";
import { forgetDraft, keptKey } from "./kept.ts";
import { focusFault, Notice } from "./notice.tsx";
import { Panel } from "./panel.tsx";
import type { FormContext } from "./parts/context.ts";
import { Sections } from "./parts/sections.tsx";
import { TryRules } from "./rules.tsx";
import { useSaving } from "./saving.ts";
import { Schedule } from "./schedule.tsx";
import { Status } from "./status.tsx";
import { Variants } from "./variants.tsx";
import { useWaiting } from "./waiting.ts";
import { WithinSet } from "./within.tsx";

/** Says that unsaved changes were restored after a reload, and lets the user discard them. */
function Restored({ draft, entry, start }: { draft: Draft; entry: EntryItem | undefined; start: Content }) {
  return (
    <Notice icon="info">
      <p>{t("entry.restoredTyped")}</p>
      <Button
        size="small"
        onClick={() =>
          draft.begin(
            entry === undefined
              ? { revision: 0, content: start }
              : { revision: entry.revision, content: entry },
          )
        }
      >
        {t("entry.discardTyped")}
      </Button>
    </Notice>
  );
}

/** Returns the key under which the browser tab stores the unsaved changes of an entry. */
const keyIn = ({ account }: Caller, { orb, module, schema, change }: EntryPlace, id: string): string =>
  keptKey(account, orb, ...(change === undefined ? [] : [change]), module, schema, id);

/**
 * Returns the fields to send: not those that the caller cannot write, or cannot read and has not changed. The platform
 * keeps the stored values of fields that are not sent.
 */
const sendable = (fields: readonly FieldModel[], { writable, readable }: Rights, { changed }: Draft) =>
  fields.filter(
    ({ name }) =>
      writable.has(name) && (readable.has(name) || changed.some((cell) => cell.field.name === name)),
  );

export function Editor({
  caller,
  orb,
  module,
  schema,
  entry,
  start,
  onStored,
}: {
  caller: Caller;
  orb: OrbModel;
  module: ModuleModel;
  schema: SchemaModel;
  /** The entry as it is stored; undefined for a new one. */
  entry: EntryItem | undefined;
  /** Content of a new entry. */
  start: Content;
  onStored: (entry: EntryItem) => void;
}) {
  const [, go] = useLocation();
  const [search, setSearch] = useSearchParams();
  const managed = isPlatformAdmin(caller);
  const where = { orb: orb.id, module: module.id, schema: schema.id };
  const place: EntryPlace = { ...where, managed, change: changeIn(orb.id) };
  const path = orbLink(orb.id, "entries", module.id, schema.id);
  const rights = useMemo(
    () => rightsOf(caller, { orb, module, schema }, entry),
    [caller, orb, module, schema, entry],
  );
  const fields = schema.fields.filter(({ name }) => rights.readable.has(name) || rights.writable.has(name));
  const windows = useMemo(
    () => windowCells({ validFrom: t("entry.validFrom"), validTo: t("entry.validTo") }),
    [],
  );
  const cells = useMemo(() => [...cellsOf({ fields }, orb), ...windows], [schema, orb, rights]);
  const keyOf = (id: string, within = place) => keyIn(caller, within, id);
  const key = keyOf(entry?.id ?? `new/${search.get("from") ?? ""}`);
  const draft = useDraft({ entry, start, schema, cells, key });
  const nameOf = useNames(caller, orb.id);
  const [target, setTarget] = useState<EntryTarget>();
  const [creation, setCreation] = useState<Creation>();
  const [adding, setAdding] = useState(false);
  const [revealed, setRevealed] = useState<Content>();
  /** Parse errors of inputs, by the JSON Pointer of the cell (one value in one language and market). */
  const typed = useRef(new Map<string, string>());
  const [checked, setChecked] = useState<readonly Fault[]>([]);
  /** Cells that changed since the last validation. The errors from that validation no longer apply to them. */
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const writable = sendable(fields, rights, draft);
  const saving = useSaving({
    place,
    orb,
    entry,
    draft,
    writable,
    onStored: (next) => {
      setRevealed(undefined);
      onStored(next);
    },
    onMade: (made, sent) => draft.carry(made, sent, keyOf(made.id)),
    onCreated: ({ id }) => {
      forgetDraft(key);
      leaveFreely();
      go(`${path}/${encodeURIComponent(id)}`, { replace: true });
    },
    onRemoved: () => {
      forgetDraft(key);
      leaveFreely();
      go(path);
    },
  });
  const isChanged = draft.changed.length > 0;
  // Text that is not valid yet, such as half a JSON value, is a change too.
  useLeaveGuard(
    () => isChanged || typed.current.size > 0 || waiting.isUploading(),
    async () => {
      const leaves = await confirm({
        title: t("entry.leaveTitle"),
        text: t("entry.leaveText", { count: Math.max(1, draft.changed.length) }),
        action: t("entry.leave"),
        danger: true,
      });
      if (leaves) forgetDraft(key);
      return leaves;
    },
  );
  const language = orb.languages.find((tag) => tag === search.get("language"));
  const market = orb.markets.find((name) => name === search.get("market"));
  const show = (chosen: Readonly<Partial<Record<"language" | "market", string | undefined>>>) =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        for (const [name, value] of Object.entries(chosen))
          if (value === undefined) next.delete(name);
          else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const faults = [...checked, ...faultsOf(saving.problem)].filter(
    ({ path }) => ![...touched].some((one) => path === one || path.startsWith(`${one}/`)),
  );
  // If the error is in a language or market that the form does not show, show all languages and markets.
  useLayoutEffect(() => {
    if (saving.problem === undefined) return;
    setTouched(new Set());
    const hidden = cells.filter(
      (cell) =>
        faults.some((fault) => fault.path === pointerOf(cell)) &&
        ((language !== undefined && cell.language !== undefined && cell.language !== language) ||
          (market !== undefined && cell.market !== undefined && cell.market !== market)),
    );
    if (hidden.length > 0) show({ language: undefined, market: undefined });
    focusFault();
  }, [saving.problem]);
  /** Returns whether all that the user has typed are values. Otherwise shows where not. */
  const isTyped = () => {
    const found = [...typed.current].map(([path, message]) => ({ path, code: "typed", message }));
    setChecked(found);
    setTouched(new Set());
    if (found.length > 0) focusFault();
    return found.length === 0;
  };
  const waiting = useWaiting((wanted) => {
    if (!isTyped()) return;
    if (wanted === "add") setAdding(true);
    else void saving.save(wanted === "publish");
  });
  const context: FormContext = {
    orb,
    schema,
    managed,
    draft: draft.content,
    faults,
    readOnly: rights.readOnly,
    ...{ writable: rights.writable, mayField: rights.mayField },
    language,
    market,
    revealed,
    reveal:
      rights.reveal && entry !== undefined && place.change === undefined
        ? () => readEntry(place, entry.id, { query: { reveal: true } }).then(setRevealed, complain)
        : undefined,
    set: (cell, value) => {
      setTouched((now) => (now.has(pointerOf(cell)) ? now : new Set([...now, pointerOf(cell)])));
      draft.set(cell, value);
    },
    tell: (cell, message) => {
      if (message === undefined) typed.current.delete(pointerOf(cell));
      else typed.current.set(pointerOf(cell), message);
    },
    upload: (cell, progress) => waiting.report(pointerOf(cell), progress),
    open: setTarget,
    create: (field) =>
      mayCreateTarget(caller, orb, field) ? (name, pick) => setCreation({ field, name, pick }) : undefined,
  };
  const named = titleField(schema);
  const isPublishable = module.type !== "TRANSACTIONS" && module.type !== "SETTINGS";
  // An entry without a text is named after the entry that it refers to.
  const own = `${orb.id}/${module.id}/${schema.id}`;
  const naming = named === undefined ? schema.fields.find(isSingleReference) : undefined;
  const namedAfter = naming === undefined ? "" : plainValue(entry?.values[naming.name]);
  const { name: foundName } = useTargetName(
    (naming === undefined ? undefined : refsOf(naming)[0]) ?? own,
    namedAfter,
  );
  const title =
    entry === undefined
      ? t("entry.newTitle", { name: titleOf(schema) })
      : (named === undefined ? foundName : plainValue(entry.values[named.name])) || entry.id;
  const newer = entry !== undefined && isChanged && entry.revision > draft.base.revision;
  const gone =
    entry !== undefined &&
    isProblem(saving.problem) &&
    (saving.problem.status === 404 || saving.problem.status === 410);
  const rest = otherFaults(faults, cells.map(pointerOf).concat(fields.map(({ name }) => `/values/${name}`)));
  return (
    <Page
      wide
      title={title}
      language={
        entry === undefined || named === undefined
          ? undefined
          : plainLanguage(entry.values[named.name], named)
      }
      path={[
        { label: titleOf(orb), to: orbLink(orb.id) },
        { label: titleOf(schema), to: path },
      ]}
    >
      <div class={`entry ${target === undefined ? "" : "with-beside"}`}>
        <div class="entry-main">
          {rights.readOnly === undefined ? null : <Notice icon="lock">{rights.readOnly}</Notice>}
          <WithinSet {...{ place, entry, start, draft, keyOf, waiting }} />
          {draft.restored ? <Restored {...{ draft, entry, start }} /> : null}
          {newer ? (
            <Notice icon="triangleAlert">
              {t("entry.changedMeanwhile", { who: nameOf(entry.updatedBy) })}
            </Notice>
          ) : null}
          {saving.problem === undefined ||
          (faultsOf(saving.problem).length > 0 && rest.length === 0) ? null : (
            <ProblemBox error={saving.problem}>
              {gone && rights.may("create") ? (
                <Button icon="plus" onClick={() => void saving.saveAsNew()}>
                  {t("entry.saveAsNew")}
                </Button>
              ) : null}
            </ProblemBox>
          )}
          <Variants
            {...{ orb, cells, language, market }}
            draft={draft.content}
            onChange={(name, value) => show({ [name]: value })}
          />
          <form
            class="card entry-form"
            aria-label={t("entry.fields")}
            onSubmit={(event) => {
              event.preventDefault();
            }}
          >
            <Sections fields={fields} context={context} />
          </form>
          {module.type === "RULES" ? <TryRules orb={orb.id} module={module.id} schema={schema.id} /> : null}
        </div>
        <div class="entry-side">
          <Actions
            {...{ entry, draft, rights, saving, waiting, path, place }}
            onAdd={isAddable(place, module, entry, isChanged) ? waiting.add : undefined}
          />
          {waiting.text === undefined ? null : (
            <p class="entry-unsaved" role="status">
              {waiting.text}{" "}
              {waiting.wanted === undefined ? null : (
                <Button size="small" onClick={waiting.cancel}>
                  {t("entry.waitNoLonger")}
                </Button>
              )}
            </p>
          )}
          {rights.readOnly === undefined ? (
            <p class={`entry-unsaved ${isChanged ? "" : "none"}`} role="status">
              {isChanged ? t("entry.unsaved", { count: draft.changed.length }) : t("entry.noneUnsaved")}
            </p>
          ) : null}
          {entry === undefined ? null : (
            <Status
              {...{ entry, place, orb, cells, isChanged, nameOf, isPublishable }}
              content={draft.content}
              history={rights.history ? `${path}/${encodeURIComponent(entry.id)}/history` : undefined}
            />
          )}
          {isPublishable ? <Schedule entry={entry} cells={windows} context={context} /> : null}
        </div>
        {target === undefined ? null : (
          <Panel target={target} managed={managed} onClose={() => setTarget(undefined)} />
        )}
      </div>
      {creation === undefined ? null : (
        <CreationDialog creation={creation} onClose={() => setCreation(undefined)} />
      )}
      {adding && entry !== undefined ? (
        <Adding
          {...{ place, entry, draft, writable, path, title }}
          draftKey={key}
          source={{ caller, orb, module, schema }}
          onClose={() => setAdding(false)}
        />
      ) : null}
      {saving.meeting === undefined ? null : (
        <ConflictDialog
          {...{ cells, orb }}
          base={draft.base.content}
          mine={draft.content}
          theirs={saving.meeting.theirs}
          who={nameOf(saving.meeting.theirs.updatedBy)}
          publish={saving.meeting.publish}
          onClose={() => {
            if (saving.meeting !== undefined) onStored(saving.meeting.theirs);
            saving.leaveMeeting();
          }}
          onChosen={(content) =>
            saving.meeting === undefined ? undefined : void saving.saveChosen(content, saving.meeting)
          }
        />
      )}
    </Page>
  );
}

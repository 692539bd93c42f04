/**
 * The state of an entry's form: what the user has typed, the rights, the faults and the saves. The page of an entry and
 * the panel beside another form share it.
 */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Fault } from "../../../../../shared/client/problem.ts";
import { type Caller, isPlatformAdmin } from "../../../api/caller.ts";
import { type EntryItem, type EntryPlace, readEntry } from "../../../api/entries.ts";
import { type Cell, type Content, cellsOf, pointerOf, windowCells } from "../../../model/cells.ts";
import type { FieldModel } from "../../../model/orb.ts";
import { changeIn } from "../../../state/change.ts";
import { focusSoon } from "../../../state/focus.ts";
import { useLeaveGuard } from "../../../state/leave.ts";
import { t } from "../../../texts/t.ts";
import { confirm } from "../../../ui/dialog.tsx";
import { faultsOf, otherFaults } from "../../../ui/problem.tsx";
import { complain } from "../../../ui/toast.tsx";
import type { Place } from "../../place.tsx";
import { type Rights, rightsOf } from "../../rights.ts";
import type { FormContext } from "../parts/context.ts";
import { type Draft, useDraft } from "./draft.ts";
import { forgetDraft, keptKey } from "./kept.ts";
import { usePresence } from "./presence.ts";
import { type Saving, useSaving } from "./saving.ts";
import { type Unsaving, useUnsaved } from "./unsaved.ts";
import { useWaiting, type Waiting } from "./waiting.ts";

/** The language and market that a form shows; undefined for all. */
export interface View {
  language?: string | undefined;
  market?: string | undefined;
  /** Shows all languages and markets. */
  showAll: () => void;
}

export interface FormInput extends Place {
  /** The entry as it is stored; undefined for a new one. */
  entry: EntryItem | undefined;
  /** Content of a new entry. */
  start: Content;
  /** The entry of which a new one is a copy, or an empty text. */
  copyOf?: string;
  view: View;
  /** Where the inputs are: `main`, or a part of it. */
  within?: string;
  open: FormContext["open"];
  create: FormContext["create"];
  onStored: (entry: EntryItem) => void;
  /** Called after the entry was created, with its id, or deleted. */
  onLeave?: (id: string | undefined) => void;
  /** Adds the entry to a change set. */
  onAdd?: () => void;
}

export interface EntryForm {
  place: EntryPlace;
  rights: Rights;
  /** The fields that the caller may read or set. */
  fields: readonly FieldModel[];
  /** The values of the form: of the fields, and the times of the validity window. */
  cells: readonly Cell[];
  /** The times of the validity window alone. */
  windows: readonly Cell[];
  draft: Draft;
  isChanged: boolean;
  /** The fields to send. */
  writable: readonly FieldModel[];
  saving: Saving;
  waiting: Waiting;
  /** The unsaved changes on the server. */
  unsaved: Unsaving;
  context: FormContext;
  /** The faults that no input of the form shows. */
  rest: readonly Fault[];
  /** Key under which the tab stores the unsaved changes. */
  key: string;
  /** Returns this key for another entry or place. */
  keyOf: (id: string, place?: EntryPlace) => string;
  /** Asks whether to discard the unsaved changes, if there are any. */
  mayDiscard: () => Promise<boolean>;
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

/** Focuses the first invalid input after the errors have been rendered. @param within selects the element with the form */
function focusFault(within: string): void {
  focusSoon(() => {
    const first =
      document.querySelector<HTMLElement>(`${within} [aria-invalid=true]`) ??
      document.querySelector<HTMLElement>(`${within} .problem`);
    first?.scrollIntoView({ block: "center" });
    return first;
  });
}

/**
 * The faults of a form: what inputs cannot read, and what the platform answered to the last save, without the faults of
 * values that changed since.
 */
function useFaults(problem: unknown, cells: readonly Cell[], view: View, within: string) {
  /** Errors of inputs that cannot be read, by the JSON Pointer of the cell (one value in one language and market). */
  const typed = useRef(new Map<string, string>());
  const [checked, setChecked] = useState<readonly Fault[]>([]);
  /** Cells that changed since the last validation. */
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const faults = [...checked, ...faultsOf(problem)].filter(
    ({ path }) => ![...touched].some((one) => path === one || path.startsWith(`${one}/`)),
  );
  // If the error is in a language or market that the form does not show, show all languages and markets.
  useLayoutEffect(() => {
    if (problem === undefined) return;
    setTouched(new Set());
    const { language, market } = view;
    const isHidden = (cell: Cell) =>
      (language !== undefined && cell.language !== undefined && cell.language !== language) ||
      (market !== undefined && cell.market !== undefined && cell.market !== market);
    if (cells.some((cell) => isHidden(cell) && faults.some(({ path }) => path === pointerOf(cell))))
      view.showAll();
    focusFault(within);
  }, [problem]);
  return {
    faults,
    touch: (cell: Cell) =>
      setTouched((now) => (now.has(pointerOf(cell)) ? now : new Set([...now, pointerOf(cell)]))),
    tell: (cell: Cell, message: string | undefined) => {
      if (message === undefined) typed.current.delete(pointerOf(cell));
      else typed.current.set(pointerOf(cell), message);
    },
    hasUnread: () => typed.current.size > 0,
    /** Returns whether all that the user has typed are values. Otherwise shows where not. */
    isTyped: () => {
      const found = [...typed.current].map(([path, message]) => ({ path, code: "typed", message }));
      setChecked(found);
      setTouched(new Set());
      if (found.length > 0) focusFault(within);
      return found.length === 0;
    },
  };
}

/** The rights for an entry, and the values of its form. */
function useCells({ caller, orb, module, schema, entry }: FormInput) {
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
  return { rights, fields, windows, cells };
}

/** Asks before the user leaves a form with unsaved changes. @param unsaved their number */
async function asksToLeave(unsaved: number, forget: () => void): Promise<boolean> {
  const leaves = await confirm({
    title: t("entry.leaveTitle"),
    text: t("entry.leaveText", { count: Math.max(1, unsaved) }),
    action: t("entry.leave"),
    danger: true,
  });
  if (leaves) forget();
  return leaves;
}

export function useEntryForm(input: FormInput): EntryForm {
  const { caller, orb, module, schema, entry, start, view, within = "main" } = input;
  const managed = isPlatformAdmin(caller);
  const place: EntryPlace = {
    ...{ orb: orb.id, module: module.id, schema: schema.id },
    ...{ managed, change: changeIn(orb.id) },
  };
  const { rights, fields, windows, cells } = useCells(input);
  const keyOf = (id: string, other = place) => keyIn(caller, other, id);
  const key = keyOf(entry?.id ?? `new/${input.copyOf ?? ""}`);
  const draft = useDraft({ entry, start, schema, cells, key });
  const isReadOnly = rights.readOnly !== undefined;
  const unsaved = useUnsaved({ place, entry, start, draft, cells, schema, key, isReadOnly });
  const present = usePresence(place, isReadOnly ? undefined : entry?.id, within);
  const [revealed, setRevealed] = useState<Content>();
  const writable = sendable(fields, rights, draft);
  const left = (id: string | undefined) => {
    forgetDraft(key);
    input.onLeave?.(id);
  };
  const saving = useSaving({
    ...{ place, orb, entry, draft, writable },
    onStored: (next) => {
      setRevealed(undefined);
      input.onStored(next);
    },
    onMade: (made, sent) => draft.carry(made, sent, keyOf(made.id)),
    onCreated: ({ id }) => left(id),
    onRemoved: () => left(undefined),
  });
  const { faults, touch, tell, hasUnread, isTyped } = useFaults(saving.problem, cells, view, within);
  const waiting = useWaiting((wanted) => {
    if (!isTyped()) return;
    if (wanted === "add") input.onAdd?.();
    else void saving.save(wanted === "publish");
  });
  const isChanged = draft.changed.length > 0;
  // Text that is not valid yet, such as half a JSON value, is a change too.
  const isUnsaved = () => isChanged || hasUnread() || waiting.isUploading();
  const ask = () =>
    asksToLeave(draft.changed.length, () => {
      forgetDraft(key);
      unsaved.forget();
    });
  useLeaveGuard(isUnsaved, ask);
  const isRevealable = rights.reveal && entry !== undefined && place.change === undefined;
  const context: FormContext = {
    ...{ orb, schema, managed, faults, revealed, tell, present },
    ...{ readOnly: rights.readOnly, writable: rights.writable, mayField: rights.mayField },
    ...{ language: view.language, market: view.market, open: input.open, create: input.create },
    draft: draft.content,
    reveal: isRevealable
      ? () => readEntry(place, entry.id, { query: { reveal: true } }).then(setRevealed, complain)
      : undefined,
    set: (cell, value) => {
      touch(cell);
      draft.set(cell, value);
    },
    upload: (cell, progress) => waiting.report(pointerOf(cell), progress),
  };
  const rest = otherFaults(faults, cells.map(pointerOf).concat(fields.map(({ name }) => `/values/${name}`)));
  return {
    ...{ place, rights, fields, cells, windows, draft, isChanged, writable, saving, waiting, context, rest },
    ...{ unsaved, key, keyOf, mayDiscard: async () => !isUnsaved() || ask() },
  };
}

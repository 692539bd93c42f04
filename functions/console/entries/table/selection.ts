/** The selected entries of a list. */
import { useRef, useState } from "preact/hooks";
import type { EntryPlace } from "../../api/entries.ts";
import type { FieldModel, SchemaModel } from "../../model/orb.ts";
import { complain } from "../../ui/toast.tsx";
import { readAll } from "./bulk/export.ts";
import type { Row, Rows } from "./data/rows.ts";

type Selected = ReadonlyMap<string, Row>;
const NONE: Selected = new Map();

export interface Selection {
  selected: Selected;
  /** Set while all entries are being selected. Aborting it cancels the selection. */
  collecting: AbortController | undefined;
  clear: () => void;
  toggle: (index: number) => void;
  /** Selects all rows between the last toggled row and this row. */
  selectTo: (index: number) => void;
  /** Selects all rows that were read, or none if some are selected. */
  selectKnown: () => void;
  /** Selects all entries that match the conditions, which takes a request for each page. */
  selectAll: (conditions: URLSearchParams) => Promise<void>;
  /** Removes entries that an action has changed. */
  drop: (changed: { has(id: string): boolean }) => void;
}

interface SelectionInput {
  place: EntryPlace;
  schema: SchemaModel;
  columns: readonly FieldModel[];
  rows: Rows;
}

export function useSelection({ place, schema, columns, rows }: SelectionInput): Selection {
  const [selected, setSelected] = useState<Selected>(NONE);
  const [collecting, setCollecting] = useState<AbortController>();
  const anchor = useRef(0);
  const add = (items: readonly Row[]) => {
    setSelected((old) => new Map([...old, ...items.map((item): [string, Row] => [item.id, item])]));
  };
  const addRange = (first: number, end: number) => {
    rows.range(first, end, new AbortController().signal).then(add, complain);
  };
  return {
    selected,
    collecting,
    clear() {
      // Otherwise the next page of entries would be added to the empty selection.
      collecting?.abort();
      setSelected(NONE);
    },
    toggle(index) {
      const item = rows.at(index);
      if (item === undefined) return;
      anchor.current = index;
      setSelected((old) => {
        const next = new Map(old);
        if (!next.delete(item.id)) next.set(item.id, item);
        return next;
      });
    },
    selectTo: (index) => addRange(Math.min(anchor.current, index), Math.max(anchor.current, index) + 1),
    selectKnown() {
      if (selected.size > 0) setSelected(NONE);
      else addRange(0, rows.known);
    },
    async selectAll(conditions) {
      const abort = new AbortController();
      setCollecting(abort);
      // Request only names and states, because the selection can contain very many entries.
      const short = new URLSearchParams(conditions);
      const [title] = columns;
      short.set("fields", title !== undefined && schema.fields.includes(title) ? title.name : "id");
      try {
        for await (const items of readAll(place, short, abort.signal)) add(items);
      } catch (error) {
        if (!abort.signal.aborted) complain(error);
      }
      setCollecting(undefined);
    },
    drop: (changed) => setSelected((old) => new Map([...old].filter(([id]) => !changed.has(id)))),
  };
}

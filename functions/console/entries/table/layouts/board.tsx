// biome-ignore-all lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll the board.
/** A board: a column for each value of a field. A card that moves to another column gets its value. */
import { useState } from "preact/hooks";
import {
  type EntryItem,
  type EntryPlace,
  listEntries,
  patchTogether,
  revisionIn,
} from "../../../api/entries.ts";
import { type FieldModel, labelOf, type Scalar, titleField } from "../../../model/orb.ts";
import { refresh } from "../../../state/cache.ts";
import { useLoad, useReloadOnShow } from "../../../state/load.ts";
import { formatNumber, t } from "../../../texts/t.ts";
import { Button } from "../../../ui/button.tsx";
import { ProblemBox } from "../../../ui/problem.tsx";
import { complain, say } from "../../../ui/toast.tsx";
import { imageOf } from "../data/layout.ts";
import { nameOf } from "../data/names.ts";
import { isAny, narrow } from "../data/view.ts";
import { Card, type LayoutProps } from "./card.tsx";

/** Cards of a column. The table shows all. */
const SHOWN = 50;

interface BoardProps extends LayoutProps {
  place: EntryPlace;
  field: FieldModel;
  /** The parameters that select and sort the entries. */
  conditions: URLSearchParams;
  /** Returns whether the caller may change a field of an entry. */
  mayChange: (item: EntryItem, field: FieldModel) => boolean;
  /** Shows the entries with a value in the table. */
  onAll: (value: Scalar | undefined) => void;
}

/** A change of the value of an entry. */
interface Move {
  item: EntryItem;
  to: Scalar | undefined;
}

const keyOf = ({ orb, module, schema, change }: EntryPlace) =>
  `entries/${orb}/${module}/${schema}/${change ?? ""}/board/`;
const labelFor = (value: Scalar | undefined) => (value === undefined ? t("table.boardNone") : String(value));

/** Moves an entry to another column, and offers to take it back. */
function useMove({ place, field, schema, orb, view }: BoardProps) {
  const [moving, setMoving] = useState<string>();
  const write = async ({ item, to }: Move): Promise<number | undefined> => {
    const patch = { id: item.id, revision: revisionIn(place, item), values: { [field.name]: to ?? null } };
    const [written] = await patchTogether(place, [patch]);
    refresh(keyOf(place));
    return written?.revision;
  };
  return {
    moving,
    async move({ item, to }: Move) {
      const before = item.values[field.name] as Scalar | null | undefined;
      if ((before ?? undefined) === to || moving !== undefined) return;
      setMoving(item.id);
      try {
        const revision = await write({ item, to });
        const words = { name: nameOf(item, schema, orb, view), value: labelFor(to) };
        say(
          t("table.moved", words),
          revision === undefined || place.change !== undefined
            ? undefined
            : {
                label: t("table.undo"),
                run: () => {
                  write({ item: { ...item, revision }, to: before ?? undefined }).catch(complain);
                },
              },
        );
      } catch (error) {
        complain(error);
        refresh(keyOf(place));
      } finally {
        setMoving(undefined);
      }
    },
  };
}

function useColumn({ place, field, schema, conditions }: BoardProps, value: Scalar | undefined) {
  const query = new URLSearchParams(conditions);
  if (value === undefined) narrow(query, field.name, "null", "true");
  else narrow(query, field.name, "eq", String(value));
  const names = [titleField(schema)?.name, imageOf(schema)?.name, field.name].filter(
    (name) => name !== undefined,
  );
  query.set("fields", names.join(","));
  query.set("limit", String(SHOWN));
  query.set("count", "true");
  const column = useLoad(`${keyOf(place)}${query}`, (signal) => listEntries(place, { query, signal }));
  useReloadOnShow(column);
  return column;
}

/** Chooses the column of a card without dragging it. */
function MoveTo({
  name,
  field,
  value,
  disabled,
  onMove,
}: {
  name: string;
  field: FieldModel;
  value: Scalar | undefined;
  disabled: boolean;
  onMove: (to: Scalar | undefined) => void;
}) {
  const values = [undefined, ...(field.enum ?? [])];
  return (
    <select
      class="variant"
      aria-label={t("table.moveTo", { name, field: labelOf(field) })}
      value={String(values.indexOf(value))}
      disabled={disabled}
      onChange={(event) => onMove(values[Number(event.currentTarget.value)])}
    >
      {values.map((one, at) =>
        one === undefined &&
        field.required !== undefined &&
        field.required !== false &&
        value !== undefined ? null : (
          <option key={at} value={String(at)}>
            {labelFor(one)}
          </option>
        ),
      )}
    </select>
  );
}

function Column({
  props,
  value,
  mover,
  dragged,
}: {
  props: BoardProps;
  value: Scalar | undefined;
  mover: ReturnType<typeof useMove>;
  dragged: { current: EntryItem | undefined };
}) {
  const { field, schema, orb, view, linkOf, mayChange, onAll } = props;
  const { data, error, reload } = useColumn(props, value);
  const [over, setOver] = useState(false);
  const { items = [], total } = data ?? {};
  // The column of entries without a value is there only if there are some.
  if (value === undefined && error === undefined && items.length === 0) return null;
  return (
    <section
      class={`board-column ${over ? "over" : ""}`}
      aria-label={labelFor(value)}
      onDragOver={(event) => {
        if (dragged.current === undefined) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (dragged.current !== undefined) void mover.move({ item: dragged.current, to: value });
        dragged.current = undefined;
      }}
    >
      <h2>
        <span dir="auto">{labelFor(value)}</span>{" "}
        <span class="hint number">{total === undefined ? "" : formatNumber(total)}</span>
      </h2>
      {error === undefined ? null : <ProblemBox error={error} retry={() => void reload()} />}
      <ul>
        {items.map((item) => (
          <li
            key={item.id}
            class="entry-card"
            draggable={mayChange(item, field)}
            onDragStart={(event) => {
              dragged.current = item;
              event.dataTransfer?.setData("text/plain", item.id);
            }}
            onDragEnd={() => {
              dragged.current = undefined;
            }}
          >
            <Card {...{ item, schema, orb, view, linkOf }}>
              {mayChange(item, field) ? (
                <MoveTo
                  name={nameOf(item, schema, orb, view)}
                  {...{ field, value }}
                  disabled={mover.moving !== undefined}
                  onMove={(to) => void mover.move({ item, to })}
                />
              ) : null}
            </Card>
          </li>
        ))}
      </ul>
      {/* A list of entries that meet any of its filters takes no filter that must hold too. */}
      {data === undefined || data.nextCursor === null || isAny(view) ? null : (
        <Button size="small" onClick={() => onAll(value)}>
          {t("table.boardAll")}
        </Button>
      )}
    </section>
  );
}

export function Board(props: BoardProps) {
  const mover = useMove(props);
  const [dragged] = useState<{ current: EntryItem | undefined }>(() => ({ current: undefined }));
  return (
    <section class="board" tabIndex={0} aria-label={t("table.board", { field: labelOf(props.field) })}>
      {[undefined, ...(props.field.enum ?? [])].map((value) => (
        <Column key={String(value)} {...{ props, value, mover, dragged }} />
      ))}
    </section>
  );
}

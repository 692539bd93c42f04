/** A tree: each entry below the entry that its field refers to. Children are loaded when their parent is opened. */
import { useLayoutEffect, useState } from "preact/hooks";
import {
  type EntryItem,
  type EntryPlace,
  listEntries,
  patchTogether,
  revisionIn,
} from "../../../api/entries.ts";
import { type FieldModel, labelOf, pointerIn, titleField } from "../../../model/orb.ts";
import { refresh } from "../../../state/cache.ts";
import { useLoad, useReloadOnShow } from "../../../state/load.ts";
import { t } from "../../../texts/t.ts";
import { StateBadge } from "../../../ui/badge.tsx";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Link } from "../../../ui/link.tsx";
import { ProblemBox } from "../../../ui/problem.tsx";
import { Empty, Loading } from "../../../ui/states.tsx";
import { complain, say } from "../../../ui/toast.tsx";
import { orderFieldOf } from "../data/layout.ts";
import { nameOf } from "../data/names.ts";
import { NEWEST } from "../data/view.ts";
import type { LayoutProps } from "./card.tsx";
import { ancestorsOf, outsideOf } from "./lineage.ts";

/** Entries that are loaded at once below a parent. */
const PAGE = 100;

interface TreeProps extends LayoutProps {
  place: EntryPlace;
  field: FieldModel;
  /** The parameters that select and sort the entries. */
  conditions: URLSearchParams;
  mayChange: (item: EntryItem, field: FieldModel) => boolean;
}

/** What all parts of a tree share. */
interface Shared extends TreeProps {
  /** The entry that is being moved. */
  moving: EntryItem | undefined;
  busy: boolean;
  pick: (item: EntryItem | undefined) => void;
  /** Moves the picked entry below another one, or to the top level. */
  drop: (parent: EntryItem | undefined) => void;
}

const keyOf = ({ orb, module, schema, change }: EntryPlace) =>
  `entries/${orb}/${module}/${schema}/${change ?? ""}/tree/`;

const isNarrowed = (conditions: URLSearchParams) => [...conditions.keys()].some((name) => name !== "sort");

/** Returns the query for the entries below a parent. The conditions of the list choose where the tree begins. */
function queryOf(
  { field, conditions, schema, view }: TreeProps,
  parent: string | undefined,
): URLSearchParams {
  const query = new URLSearchParams(parent === undefined ? conditions : undefined);
  if (parent !== undefined) query.set(`filter[${field.name}][eq]`, parent);
  else if (!isNarrowed(conditions)) query.set(`filter[${field.name}][null]`, "true");
  const order = orderFieldOf(schema);
  if (view.sort === NEWEST && order !== undefined) query.set("sort", order.name);
  else if (view.search === undefined || parent !== undefined) query.set("sort", view.sort);
  const title = titleField(schema)?.name;
  query.set("fields", [...(title === undefined ? [] : [title]), field.name].join());
  query.set("limit", String(PAGE));
  return query;
}

function useMove(props: TreeProps) {
  const { place, field, schema, orb, view } = props;
  const [moving, setMoving] = useState<EntryItem>();
  const [busy, setBusy] = useState(false);
  const write = async (item: EntryItem, parent: string | null): Promise<number | undefined> => {
    const patch = { id: item.id, revision: revisionIn(place, item), values: { [field.name]: parent } };
    const [written] = await patchTogether(place, [patch]);
    refresh(keyOf(place));
    return written?.revision;
  };
  const drop = async (item: EntryItem, parent: EntryItem | undefined) => {
    const before = pointerIn(field, item.values[field.name])?.id ?? null;
    const to = parent?.id ?? null;
    const name = nameOf(item, schema, orb, view);
    if (before === to) return;
    setBusy(true);
    try {
      // Another user may have moved the parent since it was shown.
      const above = parent === undefined ? [] : await ancestorsOf(place, field, parent.id);
      if (above.includes(item.id)) {
        say(t("table.treeCircle", { name }));
        refresh(keyOf(place));
        return;
      }
      const revision = await write(item, to);
      const label = parent === undefined ? t("table.treeTop") : nameOf(parent, schema, orb, view);
      const run = () => {
        write({ ...item, revision: revision ?? item.revision }, before).catch(complain);
      };
      const canUndo = revision !== undefined && place.change === undefined;
      say(t("table.moved", { name, value: label }), canUndo ? { label: t("table.undo"), run } : undefined);
    } catch (error) {
      complain(error);
      refresh(keyOf(place));
    } finally {
      setBusy(false);
    }
  };
  return {
    moving,
    busy,
    pick: setMoving,
    drop(parent: EntryItem | undefined) {
      setMoving(undefined);
      if (moving !== undefined && !busy) void drop(moving, parent);
    },
  };
}

/** The button that picks an entry up, or puts the picked one below this entry. */
function MoveButton({ shared, item, path }: { shared: Shared; item: EntryItem; path: readonly string[] }) {
  const { moving, busy, pick, drop, mayChange, field, schema, orb, view } = shared;
  const name = nameOf(item, schema, orb, view);
  if (moving === undefined)
    return mayChange(item, field) ? (
      <Button
        size="small"
        disabled={busy}
        onClick={() => pick(item)}
        aria-label={t("table.treeMoveOf", { name })}
      >
        {t("table.treeMove")}
      </Button>
    ) : null;
  if (moving.id === item.id)
    return (
      <Button size="small" onClick={() => pick(undefined)}>
        {t("table.treeStay")}
      </Button>
    );
  if (path.includes(moving.id)) return null;
  return (
    <Button
      size="small"
      kind="primary"
      onClick={() => drop(item)}
      aria-label={t("table.treeBelow", { name: nameOf(moving, schema, orb, view), parent: name })}
    >
      {t("table.treeHere")}
    </Button>
  );
}

/** @param path ids of the entries above, and of this one */
function Node({ shared, item, path }: { shared: Shared; item: EntryItem; path: readonly string[] }) {
  const { schema, orb, view, linkOf, mayChange, field, pick, drop, moving } = shared;
  const [open, setOpen] = useState(false);
  const [over, setOver] = useState(false);
  const name = nameOf(item, schema, orb, view);
  const accepts = moving !== undefined && !path.includes(moving.id);
  return (
    <li>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button of the row does the same with the keyboard. */}
      <div
        class={`entry-tree-row ${over ? "over" : ""} ${moving?.id === item.id ? "moving" : ""}`}
        draggable={mayChange(item, field)}
        onDragStart={(event) => {
          event.dataTransfer?.setData("text/plain", item.id);
          pick(item);
        }}
        onDragEnd={() => pick(undefined)}
        onDragOver={(event) => {
          if (!accepts) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          if (accepts) drop(item);
        }}
      >
        <IconButton
          class="entry-tree-toggle"
          icon={open ? "chevronDown" : "chevronRight"}
          label={t(open ? "table.treeClose" : "table.treeOpen", { name })}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        />
        <Link to={linkOf(item.id)} class="strong">
          <span dir="auto">{name === "" ? t("table.unnamed") : name}</span>
        </Link>
        <StateBadge of={item} />
        <MoveButton {...{ shared, item, path }} />
      </div>
      {open ? (
        // An entry of a circle is below itself.
        <ul class="entry-tree-list entry-tree-below">
          <Branch {...{ shared, path }} parent={item.id} />
        </ul>
      ) : null}
    </li>
  );
}

/** A page of the entries below a parent, and those that follow it. */
function Branch({
  shared,
  parent,
  path,
  cursor,
}: {
  shared: Shared;
  parent: string | undefined;
  path: readonly string[];
  cursor?: string;
}) {
  const { place } = shared;
  const [more, setMore] = useState(false);
  const query = queryOf(shared, parent);
  if (cursor !== undefined) query.set("cursor", cursor);
  const page = useLoad(`${keyOf(place)}${query}`, (signal) => listEntries(place, { query, signal }));
  useReloadOnShow(page);
  const { data, error, reload } = page;
  if (error !== undefined)
    return (
      <li>
        <ProblemBox error={error} retry={() => void reload()} />
      </li>
    );
  if (data === undefined)
    return (
      <li>
        <Loading />
      </li>
    );
  const { items, nextCursor } = data;
  const isEmpty = items.length === 0 && nextCursor === null && cursor === undefined;
  return (
    <>
      {isEmpty ? (
        <li class="hint">
          {parent === undefined ? <Empty icon="search" title={t("table.noMatch")} /> : t("table.treeNone")}
        </li>
      ) : null}
      {items.map((item) => (
        <Node key={item.id} {...{ shared, item }} path={[...path, item.id]} />
      ))}
      {/* A page without entries has compared as many as one request may. The next one goes on. */}
      {nextCursor === null ? null : more || items.length === 0 ? (
        <Branch {...{ shared, parent, path }} cursor={nextCursor} />
      ) : (
        <li>
          <Button size="small" onClick={() => setMore(true)}>
            {t("table.treeMore")}
          </Button>
        </li>
      )}
    </>
  );
}

/** Finds the entries that no opened entry can show: their parent is gone, or they are above themselves. */
function Outside({ shared }: { shared: Shared }) {
  const { place, field, schema, orb, view, linkOf, mayChange, pick, busy } = shared;
  const [asked, setAsked] = useState(false);
  const title = titleField(schema)?.name;
  const names = [...(title === undefined ? [] : [title]), field.name];
  const { data, error, reload } = useLoad(asked ? `${keyOf(place)}outside` : null, (signal) =>
    outsideOf(place, field, names, signal),
  );
  if (!asked)
    return (
      <Button size="small" kind="quiet" onClick={() => setAsked(true)}>
        {t("table.treeLook")}
      </Button>
    );
  if (error !== undefined) return <ProblemBox error={error} retry={() => void reload()} />;
  if (data === undefined) return <Loading />;
  const { lines, complete } = data;
  return (
    <section aria-label={t("table.treeOutside")}>
      <h2>{t("table.treeOutside")}</h2>
      {lines.length === 0 ? <p class="hint">{t("table.treeOutsideNone")}</p> : null}
      <ul class="entry-tree-list">
        {lines.map(({ item, why }) => {
          const name = nameOf(item, schema, orb, view);
          return (
            <li key={item.id} class="entry-tree-row">
              <Link to={linkOf(item.id)}>
                <bdi>{name}</bdi>
              </Link>
              <span class="hint">{t(why === "gone" ? "table.treeGone" : "table.treeRing")}</span>
              {mayChange(item, field) ? (
                <Button
                  size="small"
                  disabled={busy}
                  onClick={() => pick(item)}
                  aria-label={t("table.treeMoveOf", { name })}
                >
                  {t("table.treeMove")}
                </Button>
              ) : null}
            </li>
          );
        })}
      </ul>
      {complete ? null : <p class="hint">{t("table.treePart")}</p>}
    </section>
  );
}

export function Tree(props: TreeProps) {
  const move = useMove(props);
  const shared: Shared = { ...props, ...move };
  const { moving, pick, drop } = move;
  const { field, schema, orb, view } = props;
  // Registered before the next frame, so that a quick key is not lost.
  useLayoutEffect(() => {
    if (moving === undefined) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") pick(undefined);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [moving]);
  return (
    <section class="entry-tree" aria-label={t("table.tree", { field: labelOf(field) })}>
      <ul class="entry-tree-list">
        <Branch key={String(queryOf(props, undefined))} shared={shared} parent={undefined} path={[]} />
      </ul>
      <Outside shared={shared} />
      {/* At the end, because a browser stops a drag if its row moves. */}
      {moving === undefined ? null : (
        <div
          class="entry-tree-top"
          role="status"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            drop(undefined);
          }}
        >
          <span>{t("table.treeMoving", { name: nameOf(moving, schema, orb, view) })}</span>
          <Button size="small" onClick={() => drop(undefined)}>
            {t("table.treeToTop")}
          </Button>
        </div>
      )}
    </section>
  );
}

/**
 * Saved views. Each stores filters, sort order, language, layout and columns under a name, for the user or for others.
 * Views that earlier versions of the console kept in the browser stay there until the user moves them.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isProblem } from "../../../../shared/client/problem.ts";
import type { EntryPlace } from "../../api/entries.ts";
import {
  listViews,
  removeView,
  type SavedView,
  saveView,
  type ViewInput,
  type ViewPage,
} from "../../api/views.ts";
import type { OrbModel } from "../../model/orb.ts";
import { type Loaded, useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Popover } from "../../ui/popover.tsx";
import { complain, say } from "../../ui/toast.tsx";
import { listOf, queryOf } from "./data/saved-view.ts";
import { type KeptView, readViews, writeViews } from "./data/stored.ts";
import { readView, type View } from "./data/view.ts";
import { audienceOf, ViewForm, wordsOfAudience } from "./view-form.tsx";

/** The tables of which the user has chosen to see all entries. They do not open with another view again. */
const whole = new Set<string>();

export interface Views {
  place: EntryPlace;
  orb: OrbModel;
  loaded: Loaded<ViewPage>;
  saved: readonly SavedView[];
  /** The views that are only in this browser. */
  kept: readonly KeptView[];
  keep: (next: readonly KeptView[]) => void;
  /** The query part of the page's URL. */
  query: string;
  open: (query: string, replace?: boolean) => void;
  /** The view that the user has opened last. */
  last: SavedView | undefined;
}

/**
 * Reads the saved views of a table. Opens the default one if the address has no view.
 * @param table path of the table, such as `shop/catalog/product`
 */
export function useViews(
  table: string,
  { place, orb, query, open }: Pick<Views, "place" | "orb" | "query" | "open">,
): Views {
  const { orb: id, module, schema, managed } = place;
  const key = `views/${managed ? "managed" : "own"}/${id}/${module}/${schema}`;
  const loaded = useLoad(key, (signal) => listViews(place, signal));
  const [kept, setKept] = useState(() => readViews(table));
  const saved = loaded.data?.items ?? [];
  const opened = useRef<string>();
  const shown = saved.find(({ list }) => queryOf(list) === query);
  opened.current = shown?.id ?? (query === "" ? undefined : opened.current);
  const isUntouched = useRef(query === "" && !whole.has(table));
  if (query !== "") isUntouched.current = false;
  const first = saved.find((view) => view.id === loaded.data?.default);
  useLayoutEffect(() => {
    if (!isUntouched.current || first === undefined) return;
    isUntouched.current = false;
    open(queryOf(first.list), true);
  }, [first]);
  return {
    ...{ place, orb, loaded, saved, kept, query },
    open(next, replace) {
      if (next === "") {
        whole.add(table);
        isUntouched.current = false;
      }
      open(next, replace);
    },
    keep(next) {
      setKept(next);
      writeViews(table, next);
    },
    last: saved.find((view) => view.id === opened.current),
  };
}

/** Returns whether the user may change a view. */
const mayChange = ({ loaded }: Views, { audience }: Pick<SavedView, "audience">): boolean =>
  audience === "me" || loaded.data?.shares === true;

/** Returns the view with a name and an audience. */
const sameIn = ({ saved }: Views, view: ViewInput): SavedView | undefined =>
  saved.find(({ name, ...rest }) => name === view.name && audienceOf(rest) === audienceOf(view));

/** Stores a view. @param replaced the view that it replaces; undefined for a new one */
async function store(
  { place, loaded }: Views,
  view: ViewInput,
  replaced: SavedView | undefined,
): Promise<void> {
  try {
    await saveView(place, view, replaced);
  } catch (error) {
    // Another client was first, so show what there is now.
    if (isProblem(error) && (error.status === 409 || error.status === 412 || error.status === 404))
      await loaded.reload();
    throw error;
  }
  await loaded.reload();
}

/** Saves the current filters and columns as a view. The button is always there, so that typing moves nothing. */
export function SaveView({ views, view }: { views: Views; view: View }) {
  const { query, saved, last } = views;
  const isKnown = saved.some(({ list }) => queryOf(list) === query);
  return (
    <Popover
      label={t("table.saveView")}
      disabled={query === "" || isKnown || views.loaded.data === undefined}
      class="button square"
      button={<Icon name="bookmark" />}
    >
      {(close) => (
        <ViewForm
          orb={views.orb}
          shares={views.loaded.data?.shares === true}
          initial={last !== undefined && mayChange(views, last) ? last : undefined}
          taken={saved}
          onSave={async (input) => {
            // The form says that it replaces the view of this name.
            await store(views, { ...input, list: listOf(view) }, sameIn(views, input));
            close();
          }}
        />
      )}
    </Popover>
  );
}

function remove(views: Views, view: SavedView): void {
  const { place, loaded } = views;
  const { id: _, revision: _revision, gone: _gone, changedAt: _at, changedBy: _by, role, ...rest } = view;
  const again = { ...rest, ...(role === null ? {} : { role }) };
  removeView(place, view).then(
    () => {
      void loaded.reload();
      const run = () => void store(views, again, undefined).catch(complain);
      // The user does not see all of the view, and would bring it back without the rest.
      const isWhole = view.gone.length === 0;
      say(t("table.viewRemoved", { name: view.name }), isWhole ? { label: t("table.undo"), run } : undefined);
    },
    (error: unknown) => {
      void loaded.reload();
      complain(error);
    },
  );
}

/** The names of fields that a view was saved with and does not show. */
function Gone({ gone }: Pick<SavedView, "gone">) {
  const names = (why: string) => [
    ...new Set(gone.filter((one) => one.why === why).map(({ field }) => field)),
  ];
  const [removed, forbidden] = [names("removed"), names("forbidden")];
  return (
    <p class="hint view-gone" role="status">
      <Icon name="triangleAlert" />
      <span>
        {removed.length === 0 ? null : t("table.viewGone", { fields: removed.join(", ") })}{" "}
        {forbidden.length === 0 ? null : t("table.viewForbidden", { fields: forbidden.join(", ") })}
      </span>
    </p>
  );
}

/** A view that the platform keeps. The one that is open can be changed and removed. */
function Saved({ views, view }: { views: Views; view: SavedView }) {
  const query = queryOf(view.list);
  const current = query === views.query;
  const audience = wordsOfAudience(view, views.orb);
  return (
    <span class="view-item">
      <button
        type="button"
        class="view"
        title={audience}
        aria-current={current ? "true" : undefined}
        onClick={() => views.open(query)}
      >
        {view.audience === "me" ? null : <Icon name="users" size={14} />}
        <span dir="auto">{view.name}</span>
        {view.audience === "me" ? null : <span class="sr-only"> ({audience})</span>}
        {view.gone.length === 0 ? null : <Icon name="triangleAlert" size={14} />}
      </button>
      {current && mayChange(views, view) ? (
        <>
          <Popover
            label={t("table.editView", { name: view.name })}
            class="button square quiet"
            button={<Icon name="pencil" />}
          >
            {(close) => (
              <ViewForm
                orb={views.orb}
                shares={views.loaded.data?.shares === true}
                initial={view}
                changed={view}
                taken={views.saved}
                onSave={async (input) => {
                  await store(views, { ...input, list: view.list }, view);
                  close();
                }}
              />
            )}
          </Popover>
          <IconButton
            label={t("table.removeView", { name: view.name })}
            icon="x"
            onClick={() => remove(views, view)}
          />
        </>
      ) : null}
    </span>
  );
}

/** Returns a name that no other view of the user has: `Poems`, or else `Poems (2)`. */
function freeName(views: Views, name: string): string {
  const short = name.slice(0, 70);
  for (let number = 1; ; number++) {
    const free = number === 1 ? short : `${short} (${number})`;
    if (sameIn(views, { name: free }) === undefined) return free;
  }
}

/** A view that only this browser has. */
function Kept({ views, view }: { views: Views; view: KeptView }) {
  const { kept, keep } = views;
  const current = view.query === views.query;
  const without = kept.filter((one) => one !== view);
  return (
    <span class="view-item">
      <button
        type="button"
        class="view"
        title={t("table.viewHere")}
        aria-current={current ? "true" : undefined}
        onClick={() => views.open(view.query)}
      >
        <span dir="auto">{view.name}</span>
        <span class="sr-only"> ({t("table.viewHere")})</span>
      </button>
      {current ? (
        <>
          {views.loaded.data === undefined ? null : (
            <IconButton
              label={t("table.keepView", { name: view.name })}
              icon="upload"
              onClick={() => {
                const list = listOf(readView(new URLSearchParams(view.query)));
                const name = freeName(views, view.name);
                store(views, { name, list }, undefined).then(() => keep(without), complain);
              }}
            />
          )}
          <IconButton
            label={t("table.removeView", { name: view.name })}
            icon="x"
            onClick={() => {
              keep(without);
              say(t("table.viewRemoved", { name: view.name }), {
                label: t("table.undo"),
                run: () => keep(kept),
              });
            }}
          />
        </>
      ) : null}
    </span>
  );
}

export function ViewBar({ views }: { views: Views }) {
  const { saved, kept, query, open } = views;
  if (saved.length === 0 && kept.length === 0) return null;
  const gone = saved.find((view) => view.gone.length > 0 && queryOf(view.list) === query)?.gone;
  return (
    <>
      <nav class="views" aria-label={t("table.views")}>
        <button
          type="button"
          class="view"
          aria-current={query === "" ? "true" : undefined}
          onClick={() => open("")}
        >
          {t("table.allEntries")}
        </button>
        {saved.map((view) => (
          <Saved key={view.id} {...{ views, view }} />
        ))}
        {kept.map((view) => (
          <Kept key={`${view.name} ${view.query}`} {...{ views, view }} />
        ))}
      </nav>
      {gone === undefined ? null : <Gone gone={gone} />}
    </>
  );
}

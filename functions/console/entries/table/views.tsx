/** Saved views. Each stores filters, sort order, language and columns under a name. */
import { useState } from "preact/hooks";
import { t } from "../../texts/t.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/form.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Popover } from "../../ui/popover.tsx";
import { say } from "../../ui/toast.tsx";
import { readViews, type SavedView, writeViews } from "./data/stored.ts";

function SaveForm({ taken, onSave }: { taken: readonly string[]; onSave: (name: string) => void }) {
  const [name, setName] = useState("");
  const known = taken.includes(name.trim());
  return (
    <form
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== "") onSave(name.trim());
      }}
    >
      <TextField
        label={t("table.viewName")}
        hint={known ? t("table.viewReplaces") : t("table.viewHint")}
        value={name}
        onChange={setName}
      />
      <Button type="submit" kind="primary" disabled={name.trim() === ""}>
        {known ? t("table.replaceView") : t("table.saveView")}
      </Button>
    </form>
  );
}

export interface ViewsProps {
  views: readonly SavedView[];
  /** The query part of the page's URL. */
  query: string;
  keep: (next: readonly SavedView[]) => void;
}

/**
 * Returns the saved views of a table, and a function that replaces them.
 * @param table path of the table, such as `shop/catalog/product`
 */
export function useViews(table: string): [readonly SavedView[], (next: readonly SavedView[]) => void] {
  const [views, setViews] = useState(() => readViews(table));
  return [
    views,
    (next) => {
      setViews(next);
      writeViews(table, next);
    },
  ];
}

/** Saves the current filters and columns as a view. The button is always there, so that typing moves nothing. */
export function SaveView({ views, query, keep }: ViewsProps) {
  return (
    <Popover
      label={t("table.saveView")}
      disabled={query === "" || views.some((view) => view.query === query)}
      class="button square"
      button={<Icon name="bookmark" />}
    >
      {(close) => (
        <SaveForm
          taken={views.map(({ name }) => name)}
          onSave={(name) => {
            close();
            const others = views.filter((view) => view.name !== name);
            keep([...others, { name, query }]);
          }}
        />
      )}
    </Popover>
  );
}

export function Views({ views, query, keep, onOpen }: ViewsProps & { onOpen: (query: string) => void }) {
  if (views.length === 0) return null;
  return (
    <nav class="views" aria-label={t("table.views")}>
      <button
        type="button"
        class="view"
        aria-current={query === "" ? "true" : undefined}
        onClick={() => onOpen("")}
      >
        {t("table.allEntries")}
      </button>
      {views.map((view) => {
        const current = view.query === query;
        return (
          <span key={view.name} class="view-item">
            <button
              type="button"
              class="view"
              aria-current={current ? "true" : undefined}
              onClick={() => onOpen(view.query)}
            >
              {view.name}
            </button>
            {current ? (
              <IconButton
                label={t("table.removeView", { name: view.name })}
                icon="x"
                onClick={() => {
                  keep(views.filter((one) => one !== view));
                  say(t("table.viewRemoved", { name: view.name }), {
                    label: t("table.undo"),
                    run: () => keep(views),
                  });
                }}
              />
            ) : null}
          </span>
        );
      })}
    </nav>
  );
}

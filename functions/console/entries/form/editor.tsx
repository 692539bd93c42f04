/** The page of an entry's form: its fields, its state and its actions. */
import { useRef, useState } from "preact/hooks";
import { useLocation, useSearchParams } from "wouter-preact";
import type { EntryItem } from "../../api/entries.ts";
import type { EntryTarget } from "../../fields/parts/kind.ts";
import { isSingleReference, useTargetName } from "../../fields/parts/target.tsx";
import { type Content, plainLanguage, plainValue } from "../../model/cells.ts";
import { type OrbModel, refsOf, titleField, titleOf } from "../../model/orb.ts";
import { orbLink } from "../../shell/nav.ts";
import { leaveFreely } from "../../state/leave.ts";
import { t } from "../../texts/t.ts";
import { Page } from "../../ui/page.tsx";
import { useNames } from "../names.ts";
import type { Place } from "../place.tsx";
import { Preview, PreviewButton, type PreviewState, usePreview } from "../preview/open.tsx";
import { Actions } from "./actions.tsx";
import { Adding, isAddable } from "./adding.tsx";
import { type Creation, CreationDialog, mayCreateTarget } from "./creation.tsx";
import { Notice } from "./notice.tsx";
import { Panel } from "./panel.tsx";
import { Sections } from "./parts/sections.tsx";
import { TryRules } from "./rules.tsx";
import { Schedule } from "./schedule.tsx";
import { FormNotices, type FormProps, FormStanding } from "./standing.tsx";
import { useEntryForm, type View } from "./state/form.ts";
import { Status } from "./status.tsx";
import { Variants } from "./variants.tsx";
import { WithinSet } from "./within.tsx";

/** The actions on the entry, and its state. */
function Side({
  form,
  entry,
  nameOf,
  preview,
  ...place
}: FormProps & EditorProps & { preview: PreviewState | undefined }) {
  const { module, orb } = place;
  const { rights, waiting, cells, windows, draft, isChanged, context } = form;
  const path = orbLink(orb.id, "entries", module.id, place.schema.id);
  const isPublishable = module.type !== "TRANSACTIONS" && module.type !== "SETTINGS";
  return (
    <div class="entry-side">
      <Actions
        {...{ entry, draft, rights, waiting, path }}
        saving={form.saving}
        place={form.place}
        onAdd={isAddable(form.place, module, entry, isChanged) ? waiting.add : undefined}
      />
      <FormStanding {...{ form, nameOf, orb }} onStored={place.onStored} />
      {preview === undefined ? null : <PreviewButton of={preview} />}
      {entry === undefined ? null : (
        <Status
          {...{ entry, orb, cells, isChanged, nameOf, isPublishable }}
          place={form.place}
          content={draft.content}
          history={rights.history ? `${path}/${encodeURIComponent(entry.id)}/history` : undefined}
        />
      )}
      {isPublishable ? <Schedule entry={entry} cells={windows} context={context} /> : null}
    </div>
  );
}

/** The language and market that the address names. */
function useView(orb: OrbModel) {
  const [search, setSearch] = useSearchParams();
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
  const view: View = {
    language: orb.languages.find((tag) => tag === search.get("language")),
    market: orb.markets.find((name) => name === search.get("market")),
    showAll: () => show({ language: undefined, market: undefined }),
  };
  return { view, show, copyOf: search.get("from") ?? "" };
}

/** Returns the name of an entry. An entry without a text is named after the entry that it refers to. */
function useTitle({ orb, module, schema, entry }: EditorProps): string {
  const named = titleField(schema);
  const naming = named === undefined ? schema.fields.find(isSingleReference) : undefined;
  const { name } = useTargetName(
    (naming === undefined ? undefined : refsOf(naming)[0]) ?? `${orb.id}/${module.id}/${schema.id}`,
    naming === undefined ? "" : plainValue(entry?.values[naming.name]),
  );
  if (entry === undefined) return t("entry.newTitle", { name: titleOf(schema) });
  return (named === undefined ? name : plainValue(entry.values[named.name])) || entry.id;
}

/** Returns the language of an entry's title, if it is known. */
function languageOfTitle({ schema, entry }: EditorProps): string | undefined {
  const named = titleField(schema);
  return entry === undefined || named === undefined
    ? undefined
    : plainLanguage(entry.values[named.name], named);
}

interface EditorProps extends Place {
  /** The entry as it is stored; undefined for a new one. */
  entry: EntryItem | undefined;
  /** Content of a new entry. */
  start: Content;
  onStored: (entry: EntryItem) => void;
}

/** The entry that the panel beside the form shows. */
function useBeside() {
  const [target, setTarget] = useState<EntryTarget>();
  /** Asks whether the panel may close. */
  const mayClose = useRef(async () => true);
  const showBeside = async (next: EntryTarget | undefined) => {
    if (next !== undefined && next.id === target?.id && next.schema === target.schema) {
      document.querySelector<HTMLElement>(".beside h2")?.focus();
      return;
    }
    if (await mayClose.current()) setTarget(next);
  };
  return { target, mayClose, showBeside };
}

/** Returns the class of the page's columns. */
const classOf = (target: EntryTarget | undefined, preview: PreviewState | undefined): string =>
  `entry ${target === undefined ? "" : "with-beside"} ${preview?.isOpen === true ? "with-preview" : ""}`;

export function Editor(props: EditorProps) {
  const { caller, orb, module, schema, entry, start, onStored } = props;
  const [, go] = useLocation();
  const { view, show, copyOf } = useView(orb);
  const { target, mayClose, showBeside } = useBeside();
  const [creation, setCreation] = useState<Creation>();
  const [adding, setAdding] = useState(false);
  const path = orbLink(orb.id, "entries", module.id, schema.id);
  const form = useEntryForm({
    ...{ caller, orb, module, schema, entry, start, view, copyOf, onStored },
    open: (next) => void showBeside(next),
    create: (field) =>
      mayCreateTarget(caller, orb, field) ? (name, pick) => setCreation({ field, name, pick }) : undefined,
    onLeave: (id) => {
      leaveFreely();
      go(id === undefined ? path : `${path}/${encodeURIComponent(id)}`, { replace: id !== undefined });
    },
    onAdd: () => setAdding(true),
  });
  const { place, rights, draft, context } = form;
  const nameOf = useNames(caller, orb.id);
  const preview = usePreview(form, props);
  const title = useTitle(props);
  return (
    <Page
      wide
      title={title}
      language={languageOfTitle(props)}
      path={[
        { label: titleOf(orb), to: orbLink(orb.id) },
        { label: titleOf(schema), to: path },
      ]}
    >
      <div class={classOf(target, preview)}>
        <div class="entry-main">
          {rights.readOnly === undefined ? null : <Notice icon="lock">{rights.readOnly}</Notice>}
          <WithinSet {...{ place, entry, start, draft }} keyOf={form.keyOf} waiting={form.waiting} />
          <FormNotices {...{ form, entry, nameOf, start }} />
          <Variants
            {...{ orb, cells: form.cells, language: view.language, market: view.market }}
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
            <Sections fields={form.fields} context={context} />
          </form>
          {module.type === "RULES" ? <TryRules orb={orb.id} module={module.id} schema={schema.id} /> : null}
        </div>
        <Side {...props} {...{ form, nameOf, preview }} />
        <Preview of={preview} {...{ form, orb, entry, view }} />
        {target === undefined ? null : (
          <Panel
            {...{ target, mayClose }}
            managed={place.managed}
            onClose={() => void showBeside(undefined)}
          />
        )}
      </div>
      {creation === undefined ? null : (
        <CreationDialog creation={creation} onClose={() => setCreation(undefined)} />
      )}
      {adding && entry !== undefined ? (
        <Adding
          {...{ place, entry, draft, path, title }}
          writable={form.writable}
          draftKey={form.key}
          source={{ caller, orb, module, schema }}
          onClose={() => setAdding(false)}
        />
      ) : null}
    </Page>
  );
}

/** The form of another entry in the panel beside a form. It saves on its own. */
import { type MutableRef, useLayoutEffect, useMemo } from "preact/hooks";
import type { EntryItem } from "../../api/entries.ts";
import { newContent } from "../../model/cells.ts";
import { pressedKey } from "../../state/commands.ts";
import { focusSoon } from "../../state/focus.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Shows } from "../../ui/states.tsx";
import { useNames } from "../names.ts";
import type { Place } from "../place.tsx";
import { Notice } from "./notice.tsx";
import { Sections } from "./parts/sections.tsx";
import { FormNotices, FormStanding } from "./standing.tsx";
import { useEntryForm, type View } from "./state/form.ts";
import { useFormEntry } from "./state/read.ts";

/** The panel shows all languages and markets. */
const EVERYTHING: View = { showAll: () => undefined };

interface BesideProps {
  place: Place;
  /** Set to what asks before unsaved changes are discarded. */
  mayClose: MutableRef<() => Promise<boolean>>;
  /** Shows the values again, and no form. */
  onDone: () => void;
}

function Form({
  place,
  entry,
  mayClose,
  onStored,
  onDone,
}: BesideProps & { entry: EntryItem; onStored: (entry: EntryItem) => void }) {
  const { caller, orb, schema } = place;
  const start = useMemo(() => newContent(schema, orb), [schema, orb]);
  const form = useEntryForm({
    ...place,
    ...{ entry, start, onStored },
    view: EVERYTHING,
    within: ".beside",
    open: undefined,
    create: undefined,
    // The form behind the panel stays, with its unsaved changes.
    onLeave: onDone,
  });
  const { rights, saving, waiting, isChanged, place: at } = form;
  const nameOf = useNames(caller, orb.id);
  useLayoutEffect(() => {
    mayClose.current = form.mayDiscard;
  });
  useLayoutEffect(() => {
    focusSoon(() => document.querySelector<HTMLElement>(".beside form :is(input, textarea, select, button)"));
    return () => {
      mayClose.current = async () => true;
    };
  }, []);
  const inSet = at.change !== undefined;
  const isUploading = waiting.text !== undefined;
  const canSave = rights.readOnly === undefined && (isChanged || isUploading);
  const mayPublish = !inSet && rights.may("publish");
  const button = (publish: boolean) => (
    <Button
      kind={publish || !mayPublish ? "primary" : "plain"}
      busy={
        saving.busy === (publish ? "publish" : "save") || waiting.wanted === (publish ? "publish" : "save")
      }
      disabled={!canSave || saving.busy !== undefined}
      onClick={() => waiting.save(publish)}
    >
      {t(publish ? "entry.savePublish" : inSet ? "entry.saveInSet" : "entry.saveDraft")}
    </Button>
  );
  return (
    <form
      class="beside-form"
      aria-label={t("entry.fieldsBeside")}
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        const key = pressedKey(event);
        if (key !== "mod+s" && key !== "mod+Enter") return;
        // The form behind the panel does not save.
        event.preventDefault();
        if (canSave) waiting.save(key === "mod+Enter" && mayPublish);
      }}
    >
      {rights.readOnly === undefined ? null : <Notice icon="lock">{rights.readOnly}</Notice>}
      <FormNotices {...{ form, entry, nameOf, start }} />
      <Sections fields={form.fields} context={form.context} />
      <div class="beside-actions">
        <FormStanding {...{ form, nameOf, orb, onStored }} />
        <div class="entry-buttons">
          {mayPublish ? button(true) : null}
          {button(false)}
          <Button onClick={() => void form.mayDiscard().then((may) => (may ? onDone() : undefined))}>
            {t("entry.besideDone")}
          </Button>
        </div>
      </div>
    </form>
  );
}

export function BesideForm({ id, ...props }: BesideProps & { id: string }) {
  const entry = useFormEntry(props.place, id);
  return <Shows of={entry}>{(data) => <Form {...props} key={id} entry={data} onStored={entry.set} />}</Shows>;
}

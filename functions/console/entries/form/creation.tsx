/** Creates an entry in a dialog, for a reference of the form behind it. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Fault } from "../../../../shared/client/problem.ts";
import { type Caller, isPlatformAdmin, may } from "../../api/caller.ts";
import { createEntry } from "../../api/entries.ts";
import { targetKey } from "../../fields/parts/target.tsx";
import {
  type Content,
  cellsOfField,
  newContent,
  pointerOf,
  valuesToSend,
  withValue,
} from "../../model/cells.ts";
import { type FieldModel, isRequired, type OrbModel, refsOf, titleField, titleOf } from "../../model/orb.ts";
import { useAction } from "../../state/action.ts";
import { keep, refresh } from "../../state/cache.ts";
import { changeIn } from "../../state/change.ts";
import { focusSoon } from "../../state/focus.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { faultsOf, otherFaults, ProblemBox } from "../../ui/problem.tsx";
import { say } from "../../ui/toast.tsx";
import { type Place, WithSchema } from "../place.tsx";
import { rightsOf } from "../rights.ts";
import type { FormContext } from "./parts/context.ts";
import { Sections } from "./parts/sections.tsx";
import { useWaiting, type Waiting } from "./state/waiting.ts";

export interface Creation {
  /** The reference field. */
  field: FieldModel;
  /** What the user has typed: the name of the new entry. */
  name: string;
  pick: (id: string) => void;
}

/** Returns whether the caller may create entries to which a field can refer. */
export function mayCreateTarget(caller: Caller, orb: OrbModel, field: FieldModel): boolean {
  const [target = "", module = "", schema = ""] = refsOf(field)[0]?.split("/") ?? [];
  if (target !== orb.id) return isPlatformAdmin(caller);
  const type = orb.modules.find(({ id }) => id === module)?.type;
  const writable = type === "CONTENT" || type === "CONFIG" || (type === "RULES" && isPlatformAdmin(caller));
  return writable && may(caller, "create", { module, schema });
}

/** The content of a new entry, with the typed name. */
function startOf({ schema, orb }: Place, name: string): Content {
  const start = newContent(schema, orb);
  const title = titleField(schema);
  const [cell] = title === undefined ? [] : cellsOfField(title, orb);
  return cell === undefined || name === "" ? start : withValue(start, cell, name);
}

/** The buttons of the dialog. @param props.busy the request that runs */
function Footer({
  mayWrite,
  mayPublish,
  inSet,
  busy,
  waiting,
  onClose,
}: {
  mayWrite: boolean;
  mayPublish: boolean;
  inSet: boolean;
  busy: "save" | "publish" | undefined;
  waiting: Waiting;
  onClose: () => void;
}) {
  return (
    <>
      <Button onClick={onClose}>{t("ui.cancel")}</Button>
      {mayWrite ? (
        <Button
          kind={mayPublish ? "plain" : "primary"}
          busy={busy === "save" || waiting.wanted === "save"}
          onClick={() => waiting.save(false)}
        >
          {t(inSet ? "entry.saveInSet" : "entry.saveDraft")}
        </Button>
      ) : null}
      {mayWrite && mayPublish ? (
        <Button
          kind="primary"
          busy={busy === "publish" || waiting.wanted === "publish"}
          onClick={() => waiting.save(true)}
        >
          {t("entry.savePublish")}
        </Button>
      ) : null}
    </>
  );
}

function Form({ place, creation, onClose }: { place: Place; creation: Creation; onClose: () => void }) {
  const { caller, orb, module, schema } = place;
  const managed = isPlatformAdmin(caller);
  const change = changeIn(orb.id);
  const rights = useMemo(() => rightsOf(caller, { orb, module, schema }, undefined), [caller, orb, schema]);
  const [content, setContent] = useState(() => startOf(place, creation.name));
  const [checked, setChecked] = useState<readonly Fault[]>([]);
  const typed = useRef(new Map<string, string>());
  const form = useRef<HTMLFormElement>(null);
  const { busy, error, run } = useAction();
  const [publishing, setPublishing] = useState(false);
  const fields = schema.fields.filter(({ name }) => rights.writable.has(name));
  const title = titleField(schema);
  const first = fields.filter((field) => isRequired(field) || field === title);
  const others = fields.filter((field) => !first.includes(field));
  const faults = [...checked, ...faultsOf(error)];
  const rest = otherFaults(
    faults,
    fields.map(({ name }) => `/values/${name}`),
  );
  const showFault = () => focusSoon(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]"));
  useLayoutEffect(() => {
    if (error !== undefined) showFault();
  }, [error]);
  const create = async (publish: boolean) => {
    const found = [...typed.current].map(([path, message]) => ({ path, code: "typed", message }));
    setChecked(found);
    if (found.length > 0) return showFault();
    setPublishing(publish);
    await run(async () => {
      const at = { orb: orb.id, module: module.id, schema: schema.id, managed, change };
      const values = valuesToSend(content, fields, orb);
      const made = await createEntry(at, { values, validFrom: null, validTo: null }, publish);
      keep(targetKey({ place: at }, made.id), made);
      refresh(`orbs/${orb.id}/count`);
      say(
        t(change !== undefined ? "entry.savedInSet" : publish ? "entry.createdPublished" : "entry.created"),
      );
      onClose();
      creation.pick(made.id);
    });
  };
  // A new entry in a change set goes live with the set.
  const mayPublish = change === undefined && rights.may("publish");
  const waiting = useWaiting((wanted) => void create(wanted === "publish"));
  const context: FormContext = {
    orb,
    schema,
    managed,
    draft: content,
    faults,
    readOnly: rights.readOnly,
    ...{ writable: rights.writable, mayField: rights.mayField },
    language: undefined,
    market: undefined,
    revealed: undefined,
    reveal: undefined,
    set: (cell, value) => {
      setChecked((now) => now.filter(({ path }) => path !== pointerOf(cell)));
      setContent((now) => withValue(now, cell, value));
    },
    tell: (cell, message) => {
      if (message === undefined) typed.current.delete(pointerOf(cell));
      else typed.current.set(pointerOf(cell), message);
    },
    upload: (cell, progress) => waiting.report(pointerOf(cell), progress),
    open: undefined,
    create: undefined,
  };
  const hidden = faults.some(({ path }) => others.some(({ name }) => path.startsWith(`/values/${name}`)));
  return (
    <Dialog
      wide
      title={t("entry.newTitle", { name: titleOf(schema) })}
      onClose={onClose}
      actions={
        <Footer
          {...{ mayPublish, waiting, onClose }}
          mayWrite={rights.readOnly === undefined}
          inSet={change !== undefined}
          busy={busy ? (publishing ? "publish" : "save") : undefined}
        />
      }
    >
      <form
        ref={form}
        class="entry-form"
        onSubmit={(event) => {
          event.preventDefault();
          waiting.save(mayPublish);
        }}
      >
        {rights.readOnly === undefined ? null : <p class="hint">{rights.readOnly}</p>}
        {error === undefined || (faults.length > 0 && rest.length === 0) ? null : (
          <ProblemBox error={error} />
        )}
        {waiting.text === undefined ? null : (
          <p class="hint" role="status">
            {waiting.text}
          </p>
        )}
        <Sections fields={first} context={context} />
        {others.length === 0 ? null : (
          <details open={hidden || first.length === 0}>
            <summary class="further-title">{t("entry.furtherFields", { count: others.length })}</summary>
            <Sections fields={others} context={context} />
          </details>
        )}
      </form>
    </Dialog>
  );
}

/** The dialog that creates the entry and picks it. */
export function CreationDialog({ creation, onClose }: { creation: Creation; onClose: () => void }) {
  const [orb = "", module = "", schema = ""] = refsOf(creation.field)[0]?.split("/") ?? [];
  return (
    <WithSchema params={{ orb, module, schema }} bare>
      {(place) => <Form {...{ place, creation, onClose }} />}
    </WithSchema>
  );
}

/** Asks into which object a field moves. The values that are stored for the field move too. */
import { useLayoutEffect, useState } from "preact/hooks";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/form.tsx";
import { ProblemBox } from "../../ui/problem.tsx";
import { say } from "../../ui/toast.tsx";
import type { Editor } from "../document/editor.ts";
import { namesIn, objectAt, objectsFor, withFieldInObject } from "../document/into-object.ts";
import { objectOf, textOf, valueAt } from "../document/pointer.ts";
import { focusFirst, rowOf } from "./item-list.tsx";
import { useBefore } from "./published.ts";

const NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,62}$/;

/** Returns what is wrong with the name of a new field. */
function faultOf(name: string, taken: readonly string[]): string | undefined {
  if (!NAME.test(name)) return t("schema.moveNameForm");
  return taken.includes(name) ? t("schema.moveNameTaken") : undefined;
}

function Actions({ onClose, busy }: { onClose: () => void; busy: boolean }) {
  return (
    <>
      <Button onClick={onClose}>{t("ui.cancel")}</Button>
      <Button kind="primary" type="submit" form="move-field" busy={busy}>
        {t("schema.move")}
      </Button>
    </>
  );
}

/** Says that the published document cannot be read. */
function LoadProblem({ of: { error, reload } }: { of: ReturnType<typeof useBefore>["live"] }) {
  return error === undefined ? null : <ProblemBox error={error} retry={() => void reload()} />;
}

/** Lets the user choose among the objects of the schema and a new one. */
function Objects(props: { objects: readonly string[]; chosen: string; choose: (name: string) => void }) {
  const { objects, chosen, choose } = props;
  if (objects.length === 0) return null;
  const options = [
    ...objects.map((one) => ({ value: one, label: one })),
    { value: "", label: t("schema.moveNew") },
  ];
  return <SelectField label={t("schema.moveObject")} value={chosen} onChange={choose} options={options} />;
}

export function MoveField({ editor, path, onClose }: { editor: Editor; path: string; onClose: () => void }) {
  const document = editor.document.value;
  // Publishing compares with this document, so the member must name a field of it.
  const { live, before: published } = useBefore(editor);
  const name = textOf(objectOf(valueAt(document, path)).name);
  const objects = objectsFor(document, path);
  const [chosen, choose] = useState(objects[0] ?? "");
  const [typed, setTyped] = useState("");
  const [member, setMember] = useState(name);
  const [asked, setAsked] = useState(false);
  // Enter may come before the published document does. The field moves then.
  const [waiting, setWaiting] = useState(false);
  const object = chosen === "" ? typed : chosen;
  const { fields, members } = namesIn(document, path, object);
  const others = fields.filter((one) => one !== name);
  const faults = {
    object: chosen === "" ? faultOf(typed, others) : undefined,
    member: faultOf(member, chosen === "" ? [] : members),
  };
  const move = () => {
    setAsked(true);
    const isValid = faults.object === undefined && faults.member === undefined;
    setWaiting(isValid && published === undefined);
    if (!isValid || published === undefined) return;
    const before = editor.document.value;
    const next = withFieldInObject(before, published, path, { object, member });
    const at = objectAt(next, path, object);
    editor.edit(next);
    editor.select(at);
    say(t("schema.movedInto", { name, object }), { label: t("schema.undo"), run: () => editor.edit(before) });
    onClose();
    focusFirst(rowOf(at));
  };
  useLayoutEffect(() => {
    if (waiting && published !== undefined) move();
  }, [waiting, published]);
  return (
    <Dialog
      title={t("schema.moveInto", { name })}
      onClose={onClose}
      actions={<Actions onClose={onClose} busy={waiting} />}
    >
      <form
        id="move-field"
        onSubmit={(event) => {
          event.preventDefault();
          move();
        }}
      >
        <p class="hint">{t("schema.moveHint")}</p>
        <LoadProblem of={live} />
        <Objects objects={objects} chosen={chosen} choose={choose} />
        {chosen === "" ? (
          <TextField
            label={t("schema.moveNewName")}
            required
            value={typed}
            onChange={setTyped}
            error={asked ? faults.object : undefined}
          />
        ) : null}
        <TextField
          label={t("schema.moveMember")}
          required
          value={member}
          onChange={setMember}
          error={asked ? faults.member : undefined}
        />
      </form>
    </Dialog>
  );
}

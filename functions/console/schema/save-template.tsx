/** Saves a module as a template, from which other applications create modules. */
import { useState } from "preact/hooks";
import { listTemplates, saveTemplate } from "../api/documents.ts";
import { refresh } from "../state/cache.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/form.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { say } from "../ui/toast.tsx";
import type { Editor } from "./document/editor.ts";
import { isList, type Json, listOf, objectOf, textOf, valueAt } from "./document/pointer.ts";

/**
 * Returns a template of the module. In references to the module's own schemas, a placeholder replaces the
 * application's id.
 */
function templateOf(module: Readonly<Record<string, unknown>>, orb: string): object {
  const own = `${orb}/${textOf(module.id)}/`;
  const placed = (ref: Json): Json =>
    typeof ref === "string" && ref.startsWith(own)
      ? `template${ref.slice(orb.length)}`
      : isList(ref)
        ? ref.map(placed)
        : ref;
  const fieldOf = (field: Json): Json => {
    const { ref, fields, ...others } = objectOf(field);
    return {
      ...others,
      ...(ref === undefined ? {} : { ref: placed(ref) }),
      ...(fields === undefined ? {} : { fields: listOf(fields).map(fieldOf) }),
    };
  };
  const schemas = listOf(module.schemas)
    .map(objectOf)
    .map((schema) => ({ ...schema, fields: listOf(schema.fields).map(fieldOf) }));
  return { ...module, schemas };
}

export function SaveTemplate({
  editor,
  path,
  onClose,
}: {
  editor: Editor;
  path: string;
  onClose: () => void;
}) {
  const module = objectOf(valueAt(editor.document.value, path));
  const [id, setId] = useState(textOf(module.id));
  const [description, setDescription] = useState(textOf(module.name));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const isKnown = useLoad("templates", listTemplates).data?.some((one) => one.id === id) === true;
  const save = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await saveTemplate(id, { description, module: templateOf(module, editor.orb) });
      refresh("templates");
      say(t("schema.templateSaved", { id }));
      onClose();
    } catch (reason) {
      setError(reason);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={t("schema.saveTemplate")}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" form="save-template" busy={busy} disabled={id === ""}>
            {t("schema.saveTemplate")}
          </Button>
        </>
      }
    >
      <form
        id="save-template"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && id !== "") void save();
        }}
      >
        {error === undefined ? null : <ProblemBox error={error} />}
        <TextField
          label={t("attribute.id")}
          hint={t(isKnown ? "schema.templateKnown" : "schema.templateHint")}
          required
          value={id}
          onChange={setId}
        />
        <TextField label={t("attribute.description")} value={description} onChange={setDescription} />
      </form>
    </Dialog>
  );
}

/** Adds a module that is empty, or that is created from a template of the platform. */
import { useState } from "preact/hooks";
import { listTemplates, moduleFromTemplate } from "../api/documents.ts";
import { useAction } from "../state/action.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField, TextField } from "../ui/form.tsx";
import { faultsOf, ProblemBox } from "../ui/problem.tsx";
import type { Editor } from "./document/editor.ts";
import { isObject, listOf, objectOf, withItem } from "./document/pointer.ts";
import { focusFirst, freeName, rowOf } from "./form/item-list.tsx";

const TYPES = ["CONTENT", "CONFIG", "RULES", "TRANSACTIONS", "SETTINGS"] as const;
const ID = /^[a-z][a-z0-9-]{0,62}$/;

export function NewModule({ editor, onClose }: { editor: Editor; onClose: () => void }) {
  const modules = listOf(editor.document.value.modules);
  const [template, setTemplate] = useState("");
  const [type, setType] = useState<string>("CONTENT");
  const [id, setId] = useState("");
  const { busy, error, run } = useAction();
  const [asked, setAsked] = useState(false);
  const templates = useLoad("templates", listTemplates);
  const fault = !asked
    ? undefined
    : !ID.test(id)
      ? t("schema.moduleIdForm")
      : modules.some((one) => objectOf(one).id === id)
        ? t("schema.moduleIdTaken")
        : undefined;
  const add = async () => {
    setAsked(true);
    if (!ID.test(id) || modules.some((one) => objectOf(one).id === id)) return;
    await run(async () => {
      const made =
        template === "" ? { id, type, schemas: [] } : await moduleFromTemplate(template, editor.orb, id);
      if (!isObject(made)) return;
      const now = editor.document.value;
      const at = listOf(now.modules).length;
      editor.edit(withItem(now, "/modules", at, made));
      editor.select(`/modules/${at}`);
      onClose();
      focusFirst(`${rowOf(`/modules/${at}`)}, [data-add="/modules/${at}/schemas"]`);
    });
  };
  const known = templates.data ?? [];
  return (
    <Dialog
      title={t("schema.newModule")}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" form="new-module" busy={busy}>
            {t("schema.addModule")}
          </Button>
        </>
      }
    >
      <form
        id="new-module"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        {error === undefined || faultsOf(error).length > 0 ? null : <ProblemBox error={error} />}
        <TextField
          label={t("attribute.id")}
          hint={t("schema.moduleIdHint", { orb: editor.orb })}
          required
          value={id}
          onChange={setId}
          error={fault}
        />
        {known.length === 0 ? null : (
          <SelectField
            label={t("schema.template")}
            value={template}
            onChange={(next) => {
              setTemplate(next);
              if (id === "" && next !== "") setId(freeName(modules, next));
            }}
            options={[
              { value: "", label: t("schema.templateNone") },
              ...known.map((one) => ({
                value: one.id,
                label: one.description === "" ? one.id : `${one.id}: ${one.description}`,
              })),
            ]}
          />
        )}
        {template === "" ? (
          <SelectField
            label={t("attribute.type")}
            value={type}
            onChange={setType}
            options={TYPES.map((one) => ({ value: one, label: t(`schema.type_${one}`) }))}
          />
        ) : null}
      </form>
    </Dialog>
  );
}

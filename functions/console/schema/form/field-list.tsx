/** The fields of a schema, of a component, or of the objects of a field. */
import { t } from "../../texts/t.ts";
import type { Editor } from "../document/editor.ts";
import { below, type JsonObject, objectOf, textOf, valueAt } from "../document/pointer.ts";
import { AttributeForm } from "./attribute-form.tsx";
import { freeName, ItemList } from "./item-list.tsx";

const flags = ["required", "list", "translatable", "marketSpecific", "unique", "sensitive"] as const;

const aboutField = (field: JsonObject) => (
  <>
    <code>{textOf(field.type)}</code>{" "}
    {flags
      .filter((flag) => field[flag] === true)
      .map((flag) => t(`flag.${flag}`))
      .join(" · ")}
  </>
);

interface Props {
  editor: Editor;
  /** Pointer to the list. */
  path: string;
}

export function FieldList({ editor, path }: Props) {
  return (
    <ItemList
      editor={editor}
      path={path}
      kind="field"
      id="name"
      title={t("schema.fields")}
      add={t("schema.addField")}
      empty={t("schema.noFields")}
      make={(fields) => ({ name: freeName(fields, "field"), type: "string" })}
      about={aboutField}
      more={(field) => {
        const { type, component } = objectOf(valueAt(editor.document.value, field));
        const hasOwn = type === "object" && component === undefined;
        return (
          <>
            {hasOwn ? <FieldList editor={editor} path={below(field, "fields")} /> : null}
            <details class="more">
              <summary>{t("schema.fieldAccess")}</summary>
              <p class="hint">{t("schema.fieldAccessHint")}</p>
              <AttributeForm editor={editor} kind="fieldAccess" path={below(field, "access")} />
            </details>
          </>
        );
      }}
    />
  );
}

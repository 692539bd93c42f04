/** The fields of a schema, of a component, or of the objects of a field. */
import { useState } from "preact/hooks";
import { t } from "../../texts/t.ts";
import type { MenuItem } from "../../ui/menu.tsx";
import type { Editor } from "../document/editor.ts";
import { below, type JsonObject, objectOf, textOf, valueAt } from "../document/pointer.ts";
import { AttributeForm } from "./attribute-form.tsx";
import { freeName, ItemList } from "./item-list.tsx";
import { MoveField } from "./move-field.tsx";

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

/** Fields of a schema, which can move into objects. The fields of components and objects cannot. */
const OF_SCHEMA = /^\/modules\/\d+\/schemas\/\d+\/fields$/;

/** Returns whether a field can become a member of an object. */
const canMove = ({ type, sensitive }: JsonObject): boolean => type !== "object" && sensitive !== true;

export function FieldList({ editor, path }: Props) {
  const [moving, move] = useState<string>();
  const actionsOn = (field: string): MenuItem[] =>
    OF_SCHEMA.test(path) && canMove(objectOf(valueAt(editor.document.value, field)))
      ? [{ label: t("schema.moveIntoObject"), icon: "boxes", run: () => move(field) }]
      : [];
  return (
    <>
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
        actions={actionsOn}
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
      {moving === undefined ? null : (
        <MoveField editor={editor} path={moving} onClose={() => move(undefined)} />
      )}
    </>
  );
}

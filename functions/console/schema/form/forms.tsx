/** The form for the part of the document that is selected in the tree. */
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { say } from "../../ui/toast.tsx";
import type { Editor } from "../document/editor.ts";
import {
  below,
  listOf,
  objectOf,
  segmentsOf,
  textOf,
  valueAt,
  withItem,
  withoutItem,
  withValue,
} from "../document/pointer.ts";
import { AttributeForm } from "./attribute-form.tsx";
import { FieldList } from "./field-list.tsx";
import { freeName, ItemList } from "./item-list.tsx";
import { effectsOn, Unconverted } from "./losses.tsx";
import { Accounts, General, ListForm } from "./orb-forms.tsx";
import { type FormProps, Panel } from "./panel.tsx";

/** A button that removes a module or a schema, and then offers to undo the removal. */
function Remove({ editor, path }: { editor: Editor; path: string }) {
  const object = objectOf(valueAt(editor.document.value, path));
  const name = textOf(object.id) || t("schema.unnamed");
  const list = path.replace(/\/\d+$/, "");
  const remove = () => {
    const at = Number(path.slice(list.length + 1));
    editor.edit(withoutItem(editor.document.value, list, at));
    editor.select(list.replace(/\/[^/]+$/, ""));
    say(t("schema.removed", { name }), {
      label: t("schema.undo"),
      run: () => editor.edit(withItem(editor.document.value, list, at, object)),
    });
    document.getElementById("page-title")?.focus();
  };
  return (
    <Button kind="quiet" icon="trash" onClick={remove}>
      {t("schema.remove")}
    </Button>
  );
}

/** Warns that stored values of removed fields would be lost, and offers to restore the fields. */
function Lost({ editor, path }: { editor: Editor; path: string }) {
  const { document, base } = editor;
  const { changes, module, schema } = effectsOn(editor, path);
  const fields = listOf(valueAt(document.value, below(path, "fields")));
  const lost = changes.filter(
    ({ code, values, entries }) => code === "removed_field" && (values ?? entries) > 0,
  );
  const before = listOf(base.value.document.modules)
    .map(objectOf)
    .filter((one) => one.id === module)
    .flatMap(({ schemas }) => listOf(schemas).map(objectOf))
    .find((one) => one.id === schema);
  return (
    <>
      {lost.map(({ field = "", values = 0, candidates = [] }) => {
        const old = listOf(before?.fields).find((one) => objectOf(one).name === field);
        return (
          <div class="schema-notice" key={field}>
            <p>
              {t("schema.lost", { field, count: values })}
              {candidates.length === 0 ? "" : ` ${t("schema.lostAsk")}`}
            </p>
            {candidates.map((name) => {
              const at = fields.findIndex((one) => objectOf(one).name === name);
              return at < 0 ? null : (
                <Button
                  key={name}
                  size="small"
                  onClick={() =>
                    editor.edit(withValue(document.value, below(path, "fields", at, "was"), field))
                  }
                >
                  {t("schema.renamed", { name })}
                </Button>
              );
            })}
            {old === undefined ? null : (
              <Button
                size="small"
                icon="undo"
                onClick={() =>
                  editor.edit(withItem(document.value, below(path, "fields"), fields.length, old))
                }
              >
                {t("schema.bringBack", { field })}
              </Button>
            )}
          </div>
        );
      })}
    </>
  );
}

function SchemaForm({ editor, path }: FormProps) {
  const [, module = ""] = segmentsOf(path);
  const schema = objectOf(valueAt(editor.document.value, path));
  const owner = objectOf(valueAt(editor.document.value, `/modules/${module}`));
  return (
    <Panel
      title={textOf(schema.name) || textOf(schema.id) || t("schema.unnamed")}
      about={t("schema.schemaOf", { module: textOf(owner.id), type: textOf(owner.type) })}
      actions={<Remove editor={editor} path={path} />}
    >
      <AttributeForm editor={editor} kind="schema" path={path} />
      <AttributeForm editor={editor} kind="schemaPreview" path={below(path, "preview")} />
      <Lost editor={editor} path={path} />
      <Unconverted editor={editor} path={path} />
      <FieldList editor={editor} path={below(path, "fields")} />
      <AttributeForm editor={editor} kind="schemaAccess" path={path} />
    </Panel>
  );
}

function ModuleForm({ editor, path, onTemplate }: FormProps) {
  const module = objectOf(valueAt(editor.document.value, path));
  return (
    <Panel
      title={textOf(module.name) || textOf(module.id) || t("schema.unnamed")}
      about={t("schema.moduleAbout")}
      actions={
        <span class="actions">
          <Button kind="quiet" icon="boxes" onClick={() => onTemplate(path)}>
            {t("schema.saveTemplate")}
          </Button>
          <Remove editor={editor} path={path} />
        </span>
      }
    >
      <AttributeForm editor={editor} kind="module" path={path} />
      <ItemList
        editor={editor}
        path={below(path, "schemas")}
        kind="schema"
        title={t("schema.schemas")}
        add={t("schema.addSchema")}
        empty={t("schema.noSchemas")}
        make={(schemas) => ({
          id: freeName(schemas, "schema"),
          fields: [{ name: "title", type: "string", required: true }],
        })}
        about={({ fields }) => t("orb.fields", { count: listOf(fields).length })}
        opens
      />
    </Panel>
  );
}

export function Form(props: Omit<FormProps, "path">) {
  const { editor } = props;
  const selected = editor.selected.value;
  const [first = ""] = segmentsOf(selected);
  const schema = /^\/modules\/\d+\/schemas\/\d+/.exec(selected)?.[0];
  const module = /^\/modules\/\d+/.exec(selected)?.[0];
  if (schema !== undefined) return <SchemaForm key={schema} {...props} path={schema} />;
  if (module !== undefined) return <ModuleForm key={module} {...props} path={module} />;
  if (
    first === "roles" ||
    first === "uses" ||
    first === "hooks" ||
    first === "schedules" ||
    first === "components"
  )
    return <ListForm key={first} editor={editor} list={first} onSecret={props.onSecret} />;
  if (first === "access" || first === "session" || first === "branding")
    return <Accounts {...props} path="" />;
  return <General {...props} path="" />;
}

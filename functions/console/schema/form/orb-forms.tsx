/** The forms for settings of the whole application. */
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import type { Editor } from "../document/editor.ts";
import { below, type JsonObject, listOf, objectOf, textOf, valueAt, withItem } from "../document/pointer.ts";
import { AttributeForm } from "./attribute-form.tsx";
import { FieldList } from "./field-list.tsx";
import { freeName, ItemList } from "./item-list.tsx";
import { type FormProps, Panel } from "./panel.tsx";

export function General({ editor, onNew }: FormProps) {
  return (
    <Panel title={t("schema.general")} about={t("schema.generalAbout", { orb: editor.orb })}>
      <AttributeForm editor={editor} kind="general" path="" />
      <ItemList
        editor={editor}
        path="/modules"
        kind="module"
        title={t("schema.modules")}
        add={t("schema.addModule")}
        empty={t("schema.noModules")}
        make={() => ({})}
        onAdd={onNew}
        about={({ type, schemas }) => (
          <>
            <code>{textOf(type)}</code> {t("schema.schemaCount", { count: listOf(schemas).length })}
          </>
        )}
        opens
      />
    </Panel>
  );
}

/** Returns whether the application has its own accounts. It has them if it uses the service `access`. */
const hasAccounts = (editor: Editor) =>
  listOf(editor.document.value.uses).some((use) => objectOf(use).service === "access");

export function Accounts({ editor }: FormProps) {
  const { document } = editor;
  return (
    <Panel title={t("schema.accounts")} about={t("schema.accountsAbout")}>
      {hasAccounts(editor) ? null : (
        <div class="schema-notice">
          <p>{t("schema.accountsNone")}</p>
          <Button
            size="small"
            icon="plus"
            onClick={() =>
              editor.edit(
                withItem(document.value, "/uses", listOf(document.value.uses).length, {
                  service: "access",
                  handlers: ["passkey", "invitations", "bootstrap"],
                }),
              )
            }
          >
            {t("schema.accountsAdd")}
          </Button>
        </div>
      )}
      <AttributeForm editor={editor} kind="signup" path="/access" />
      <AttributeForm editor={editor} kind="session" path="/session" />
      <h3>{t("schema.branding")}</h3>
      <AttributeForm editor={editor} kind="branding" path="/branding" />
      <ItemList
        editor={editor}
        path="/access/providers"
        kind="provider"
        title={t("schema.providers")}
        add={t("schema.addProvider")}
        empty={t("schema.noProviders")}
        make={(all) => ({ id: freeName(all, "provider"), issuer: "https://", clientId: "" })}
        about={({ issuer }) => textOf(issuer)}
      />
    </Panel>
  );
}

const LISTS = {
  components: {
    kind: "component",
    id: "id",
    make: (all: readonly unknown[]) => ({
      id: freeName(all, "component"),
      fields: [{ name: "title", type: "string" }],
    }),
  },
  roles: {
    kind: "role",
    id: "id",
    make: (all: readonly unknown[]) => ({ id: freeName(all, "role"), name: "Role" }),
  },
  uses: {
    kind: "use",
    id: "service",
    make: (): JsonObject => ({ service: "", handlers: [] }),
  },
  hooks: {
    kind: "hook",
    id: "id",
    make: (all: readonly unknown[]) => ({ id: freeName(all, "hook"), on: [] }),
  },
  schedules: {
    kind: "schedule",
    id: "id",
    make: (all: readonly unknown[]) => ({ id: freeName(all, "schedule"), cron: "0 0 6 * * *", handler: "" }),
  },
} as const;

const aboutItem = ({ handlers, handler, url, name, cron }: JsonObject) =>
  [textOf(name), listOf(handlers).map(textOf).join(", "), textOf(handler), textOf(url), textOf(cron)]
    .filter(Boolean)
    .join(" · ");

export function ListForm({
  editor,
  list,
  onSecret,
}: {
  editor: Editor;
  list: keyof typeof LISTS;
  onSecret: FormProps["onSecret"];
}) {
  /**
   * Returns the button that creates a webhook's secret, which signs its requests. The platform creates secrets only
   * for hooks that are in the stored document.
   */
  const secretOf = (path: string) => {
    const { id, url } = objectOf(valueAt(editor.document.value, path));
    if (textOf(url) === "") return null;
    const isStored = listOf(editor.base.value.document.hooks).some((hook) => objectOf(hook).id === id);
    return (
      <p class="webhook-secret">
        <Button icon="keyRound" disabled={!isStored} onClick={() => onSecret(textOf(id))}>
          {t("schema.secret")}
        </Button>{" "}
        <span class="hint">{t(isStored ? "schema.secretHint" : "schema.secretUnsaved")}</span>
      </p>
    );
  };

  return (
    <Panel title={t(`schema.${list}`)} about={t(`schema.${list}About`)}>
      <ItemList
        editor={editor}
        path={`/${list}`}
        {...LISTS[list]}
        title={t(`schema.${list}`)}
        add={t(`schema.${list}Add`)}
        empty={t(`schema.${list}None`)}
        about={aboutItem}
        {...(list === "hooks" ? { more: secretOf } : {})}
        {...(list === "components"
          ? { more: (path: string) => <FieldList editor={editor} path={below(path, "fields")} /> }
          : {})}
      />
    </Panel>
  );
}

/** Lists the entries that would lose a value by a change of type, and offers a rule that converts their values. */
import { isFieldType, takesRule } from "../../../../shared/definition/types/index.ts";
import type { DryRun } from "../../api/orbs.ts";
import { orbLink } from "../../shell/nav.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Link } from "../../ui/link.tsx";
import type { Editor } from "../document/editor.ts";
import { firstRule } from "../document/first-rule.ts";
import {
  below,
  type JsonObject,
  listOf,
  objectOf,
  segmentsOf,
  valueAt,
  withValue,
} from "../document/pointer.ts";
import { goTo } from "./faults.tsx";

export type Change = DryRun["impact"]["changes"][number];

/** Lists entries that would lose a value, because a field changes its type. */
export function Losses({
  of: { module, schema },
  lossy: { entries, examples },
  orb,
}: {
  of: Change;
  lossy: NonNullable<Change["lossy"]>;
  orb: string;
}) {
  return (
    <>
      <p>{t("effect.lossy", { count: entries })}</p>
      <ul>
        {examples.map(({ id, reason }) => (
          <li key={id}>
            <Link to={orbLink(orb, "entries", module, schema, id)} class="mono">
              {id}
            </Link>{" "}
            {reason}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Returns the effects of the unsaved changes on the entries of a schema. @param path pointer to the schema */
export function effectsOn(
  editor: Editor,
  path: string,
): { changes: readonly Change[]; module: string; schema: string } {
  const [, module = ""] = segmentsOf(path);
  const { document } = editor;
  const own = String(objectOf(listOf(document.value.modules)[Number(module)]).id);
  const id = String(objectOf(valueAt(document.value, path)).id);
  const all = editor.effects.value?.impact.changes ?? [];
  return { changes: all.filter((one) => one.module === own && one.schema === id), module: own, schema: id };
}

/** Returns the pointer to the field with a name such as `seo.title`, in the lists of fields themselves. */
function fieldAt(document: JsonObject, path: string, name: string): string | undefined {
  return name.split(".").reduce<string | undefined>((owner, part) => {
    if (owner === undefined) return undefined;
    const list = listOf(valueAt(document, below(owner, "fields")));
    const at = list.findIndex((field) => objectOf(field).name === part);
    return at < 0 ? undefined : below(owner, "fields", at);
  }, path);
}

/** Changes of type that the stored values do not survive. */
const CHANGED = /^(converted_field|changed_(type|list|translatable|market_specific))$/;

/** Says which fields cannot change their types as they are, and offers to write a rule. */
export function Unconverted({ editor, path }: { editor: Editor; path: string }) {
  const changes = effectsOn(editor, path).changes.filter(
    ({ code, refused }) => refused && CHANGED.test(code),
  );
  const document = editor.document.value;
  return (
    <>
      {changes.map((change) => {
        const field = fieldAt(document, path, change.field ?? "");
        const { type, sensitive, from } = objectOf(
          field === undefined ? undefined : valueAt(document, field),
        );
        // Only another rule than one of its own could be missing here.
        const isRefused = change.code === "converted_field" && change.severity === "dangerous";
        const canConvert =
          !(isRefused && from === undefined) &&
          isFieldType(type) &&
          takesRule({ type, sensitive: sensitive === true });
        const place = below(field ?? "", "from");
        return (
          <div class="schema-notice" key={`${change.code} ${change.field}`}>
            <div>
              <p>{change.message}</p>
              {change.lossy === undefined ? null : (
                <Losses of={change} lossy={change.lossy} orb={editor.orb} />
              )}
            </div>
            {field === undefined || !canConvert ? null : (
              <Button
                size="small"
                onClick={() => {
                  if (from === undefined)
                    editor.edit(withValue(document, place, { convert: firstRule(change) }), place);
                  goTo(editor, place);
                }}
              >
                {t(from === undefined ? "schema.convert" : "schema.convertEdit")}
              </Button>
            )}
          </div>
        );
      })}
    </>
  );
}

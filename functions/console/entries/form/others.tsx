/** Who else edits the entry. */
import type { Present } from "../../api/editing.ts";
import { labelOf, type SchemaModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Time } from "../../ui/time.tsx";

/** Returns the first letters of a name: `Ada Lovelace` → `AL`. */
function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map((word) => [...(word ?? "")][0]);
  return letters.join("").toLocaleUpperCase();
}

export function Others({ people, schema }: { people: readonly Present[]; schema: SchemaModel }) {
  if (people.length === 0) return null;
  return (
    <ul class="entry-others" aria-label={t("editing.others")}>
      {people.map(({ by, since, field }) => {
        const name = by.name ?? t("editing.someone");
        const edited = schema.fields.find((one) => one.name === field);
        return (
          <li key={by.id}>
            <span class="initials" aria-hidden="true">
              {by.name === null ? "?" : initials(name)}
            </span>
            <span>
              {edited === undefined
                ? t("editing.open", { name })
                : t("editing.edits", { name, field: labelOf(edited) })}{" "}
              <span class="hint">
                <Time at={since} />
              </span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

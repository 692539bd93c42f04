/** The form of a saved view: its name, who sees it, and whether lists open with it. */
import { useState } from "preact/hooks";
import type { SavedView, ViewInput } from "../../api/views.ts";
import { type OrbModel, titleOf } from "../../model/orb.ts";
import { useAction } from "../../state/action.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Checkbox, SelectField, TextField } from "../../ui/form.tsx";
import { ProblemBox } from "../../ui/problem.tsx";

/** Built-in roles of accounts. */
const BUILT_IN = ["user", "admin", "owner"];

type Audience = { audience?: SavedView["audience"]; role?: string | null };

/** Returns who sees a view as the value of an option: `me`, `all` or `role:editor`. */
export const audienceOf = ({ audience = "me", role = null }: Audience): string =>
  audience === "role" ? `role:${role}` : audience;

/** Returns who sees a view, in words. */
export function wordsOfAudience({ audience, role }: Audience, { roles = [] }: OrbModel): string {
  if (audience === "role") {
    const own = roles.find(({ id }) => id === role);
    return t("table.viewForRole", { role: own === undefined ? (role ?? "") : titleOf(own) });
  }
  return t(audience === "all" ? "table.viewForAll" : "table.viewForMe");
}

function audienceIn(value: string): Pick<ViewInput, "audience" | "role"> {
  const [audience, role] = value.split(":");
  if (audience === "role" && role !== undefined) return { audience, role };
  return { audience: audience === "all" ? "all" : "me" };
}

export function ViewForm({
  orb,
  shares,
  initial,
  changed,
  taken,
  onSave,
}: {
  orb: OrbModel;
  /** Whether the user may save views for others. */
  shares: boolean;
  initial: SavedView | undefined;
  /** The view that the form changes; undefined if it saves the list as it is. */
  changed?: SavedView;
  taken: readonly SavedView[];
  onSave: (view: ViewInput) => Promise<void>;
}) {
  const [name, setName] = useState(initial?.name ?? "");
  const [audience, setAudience] = useState(initial === undefined ? "me" : audienceOf(initial));
  const [isDefault, setDefault] = useState(initial?.default ?? false);
  const { busy, error, run } = useAction();
  const replaces = taken.some(
    (view) => view.id !== changed?.id && view.name === name.trim() && audienceOf(view) === audience,
  );
  const roles = [...BUILT_IN, ...(orb.roles ?? []).map(({ id }) => id)];
  const options = ["me", "all", ...roles.map((role) => `role:${role}`)];
  // A view of a role that the orb no longer has keeps it until another one is chosen.
  if (!options.includes(audience)) options.push(audience);
  const isPossible = name.trim() !== "" && !busy && !(replaces && changed !== undefined);
  return (
    <form
      class="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isPossible)
          void run(() => onSave({ name: name.trim(), ...audienceIn(audience), default: isDefault }));
      }}
    >
      <TextField
        label={t("table.viewName")}
        hint={replaces ? t("table.viewReplaces") : t("table.viewHint")}
        value={name}
        onChange={(text) => setName(text.slice(0, 80))}
      />
      {shares ? (
        <SelectField
          label={t("table.viewFor")}
          value={audience}
          options={options.map((value) => ({ value, label: wordsOfAudience(audienceIn(value), orb) }))}
          onChange={setAudience}
        />
      ) : null}
      <Checkbox label={t("table.viewDefault")} checked={isDefault} onChange={setDefault} />
      {changed === undefined || changed.gone.length === 0 ? null : (
        <p class="hint">
          {t("table.viewGoneSaved", { fields: changed.gone.map(({ field }) => field).join(", ") })}
        </p>
      )}
      {error === undefined ? null : <ProblemBox error={error} />}
      <Button type="submit" kind="primary" disabled={!isPossible}>
        {changed !== undefined
          ? t("table.changeView")
          : replaces
            ? t("table.replaceView")
            : t("table.saveView")}
      </Button>
    </form>
  );
}

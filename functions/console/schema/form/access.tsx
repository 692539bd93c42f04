/** The form for the access rules of a schema: who may read and who may write, or a rule for each action. */
import { t } from "../../texts/t.ts";
import { Checkbox, SelectField } from "../../ui/form.tsx";
import { type Json, listOf, objectOf, textOf } from "../document/pointer.ts";
import { callersOf, type Owner } from "./choices.ts";

const ACTIONS = ["read", "create", "update", "publish", "delete"] as const;

type Mode = "standard" | "short" | "long";

function modeOf(value: Json | undefined): Mode {
  if (value === undefined) return "standard";
  const { read, create, update, publish, delete: remove } = objectOf(value);
  return [create, update, publish, remove].every((list) => list === undefined) && !Array.isArray(read)
    ? "short"
    : "long";
}

function Callers({
  label,
  value,
  set,
  owner,
  without,
}: {
  label: string;
  value: Json | undefined;
  set: (value: Json | undefined) => void;
  owner: Owner;
  without: string | undefined;
}) {
  const chosen = typeof value === "string" ? [value] : listOf(value).map(textOf);
  const options = [...new Set([...callersOf(owner), ...chosen])].filter(
    (one) => one !== without || chosen.includes(one),
  );
  return (
    <fieldset class="callers">
      <legend>{label}</legend>
      <div class="several">
        {options.map((option) => (
          <Checkbox
            key={option}
            label={option}
            checked={chosen.includes(option)}
            onChange={(on) => {
              const next = options.filter((one) => (one === option ? on : chosen.includes(one)));
              set(next.length === 0 ? undefined : next);
            }}
          />
        ))}
      </div>
    </fieldset>
  );
}

export function AccessControl({
  value,
  set,
  owner,
}: {
  value: Json | undefined;
  set: (value: Json | undefined) => void;
  owner: Owner;
}) {
  const access = objectOf(value);
  const mode = modeOf(value);
  const change = (name: string, next: Json | undefined) => {
    const { [name]: _, ...others } = access;
    set(next === undefined ? others : { ...others, [name]: next });
  };
  const choices = (names: readonly string[]) => [
    { value: "", label: t("choice.standard") },
    ...names.map((name) => ({ value: name, label: name })),
  ];
  const changeMode = (next: string) => {
    if (next === "standard") set(undefined);
    else if (next === "short") set({ read: "public", write: "admin" });
    else {
      const readers = typeof access.read === "string" ? access.read : "public";
      const [creators, others] =
        access.write === "user" ? ["user", "own"] : [access.write ?? "admin", undefined];
      const rest = [others ?? creators];
      set({ read: [readers], create: [creators], update: rest, publish: rest, delete: rest });
    }
  };
  return (
    <div class="access">
      <SelectField
        label={t("schema.accessMode")}
        value={mode}
        onChange={changeMode}
        options={(["standard", "short", "long"] as const).map((one) => ({
          value: one,
          label: t(`schema.access_${one}`),
        }))}
      />
      {mode === "short" ? (
        <div class="pair">
          <SelectField
            label={t("attribute.read")}
            value={textOf(access.read)}
            options={choices(["public", "user", "own", "admin"])}
            onChange={(next) => change("read", next === "" ? undefined : next)}
          />
          <SelectField
            label={t("attribute.write")}
            value={textOf(access.write)}
            options={choices(["user", "admin", "owner"])}
            onChange={(next) => change("write", next === "" ? undefined : next)}
          />
        </div>
      ) : mode === "long" ? (
        ACTIONS.map((action) => (
          <Callers
            key={action}
            label={t(`action.${action}`)}
            value={access[action]}
            set={(next) => change(action, next)}
            owner={owner}
            without={action === "create" ? "own" : undefined}
          />
        ))
      ) : null}
    </div>
  );
}

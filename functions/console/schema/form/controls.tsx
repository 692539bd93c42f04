/** The inputs for the attributes of modules, schemas and fields: one input for each kind of attribute. */
import type { ComponentType } from "preact";
import { useId } from "preact/hooks";
import { isFieldType, traitsOf } from "../../../../shared/definition/types/index.ts";
import { kindOf } from "../../fields/index.ts";
import type { FieldModel } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Checkbox } from "../../ui/form.tsx";
import { isList, type Json, listOf, textOf } from "../document/pointer.ts";
import { AccessControl } from "./access.tsx";
import type { Attribute, Control, Owner } from "./attributes.ts";
import { type ControlProps, Conversion, JsonValue, Lines, linesOf, Moves, shown, Typed } from "./typed.tsx";

export const optionsOf = ({ options = [] }: Attribute, owner: Owner): readonly string[] => [
  ...new Set(typeof options === "function" ? options(owner) : options),
];

function Text({ value, set, attributes, attribute }: ControlProps) {
  return (
    <input
      {...attributes}
      type="text"
      autocomplete="off"
      spellcheck={false}
      value={shown(value)}
      onInput={({ currentTarget: { value: text } }) =>
        set(text === "" && attribute.required !== true ? undefined : text)
      }
    />
  );
}

function Long({ value, set, attributes }: ControlProps) {
  return (
    <textarea
      {...attributes}
      rows={2}
      value={shown(value)}
      onInput={({ currentTarget: { value: text } }) => set(text === "" ? undefined : text)}
    />
  );
}

function Secret({ value, set, attributes }: ControlProps) {
  return (
    <input
      {...attributes}
      type="password"
      autocomplete="new-password"
      value={shown(value)}
      onInput={({ currentTarget: { value: text } }) => set(text === "" ? undefined : text)}
    />
  );
}

function Suggest(props: ControlProps) {
  const list = useId();
  const { value, set, attributes, attribute, owner } = props;
  return (
    <>
      <input
        {...attributes}
        type="text"
        autocomplete="off"
        spellcheck={false}
        list={list}
        value={shown(value)}
        onInput={({ currentTarget: { value: text } }) => set(text === "" ? undefined : text)}
      />
      <datalist id={list}>
        {optionsOf(attribute, owner).map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </>
  );
}

function Choice({ value, set, attributes, attribute, owner }: ControlProps) {
  const options = optionsOf(attribute, owner);
  const current = shown(value);
  const { none } = attribute;
  return (
    <select
      {...attributes}
      value={current}
      onChange={({ currentTarget: { value: text } }) => set(text === "" ? undefined : text)}
    >
      {none === undefined && current !== "" ? null : (
        <option value="">{t(`choice.${none ?? "choose"}`)}</option>
      )}
      {(current === "" || options.includes(current) ? options : [current, ...options]).map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}

function Flag({ value, set, attribute }: ControlProps) {
  const standard = attribute.control === "unless";
  return (
    <Checkbox
      label={t(`attribute.${attribute.label ?? attribute.name}`)}
      checked={(value ?? standard) === true}
      onChange={(checked) => set(checked === standard ? undefined : checked)}
    />
  );
}

function AllLanguages({ value, set, attribute }: ControlProps) {
  return (
    <Checkbox
      label={t(`attribute.${attribute.label ?? attribute.name}`)}
      checked={value === "allLanguages"}
      onChange={(checked) => set(checked ? "allLanguages" : true)}
    />
  );
}

function Several({ value, set, attribute, owner }: ControlProps) {
  const chosen = (typeof value === "string" ? [value] : listOf(value)).map(shown);
  const options = [...new Set([...optionsOf(attribute, owner), ...chosen])];
  const toggle = (option: string, on: boolean) => {
    const next = options.filter((one) => (one === option ? on : chosen.includes(one)));
    set(next.length === 0 && attribute.required !== true ? undefined : next);
  };
  return (
    <div class="several">
      {options.map((option) => (
        <Checkbox
          key={option}
          label={option}
          checked={chosen.includes(option)}
          onChange={(on) => toggle(option, on)}
        />
      ))}
    </div>
  );
}

/** The schemas of a reference to one of several schemas. Their order stays: an id alone belongs to the first one. */
function Refs({ value, set, attribute, owner }: ControlProps) {
  const chosen = listOf(value).map(shown);
  const options = [...new Set([...chosen, ...optionsOf(attribute, owner)])];
  return (
    <div class="several">
      <Checkbox
        label={t("schema.severalRefs")}
        checked={isList(value)}
        onChange={(on) => set(on ? (value === undefined ? [] : [shown(value)]) : chosen[0])}
      />
      {isList(value)
        ? options.map((option) => (
            <Checkbox
              key={option}
              label={option}
              checked={chosen.includes(option)}
              onChange={(on) => set(on ? [...chosen, option] : chosen.filter((one) => one !== option))}
            />
          ))
        : null}
    </div>
  );
}

/**
 * Returns the field definition for inputs that edit a value of the field. Omits limits, because the platform checks
 * them.
 */
const modelOf = ({ object }: Owner): FieldModel => ({
  name: textOf(object.name),
  type: isFieldType(object.type) ? object.type : "string",
  ...(typeof object.scale === "number" ? { scale: object.scale } : {}),
});

function Values({ owner, ...props }: ControlProps) {
  const field = modelOf(owner);
  const kind = kindOf(field);
  return (
    <Typed
      {...props}
      rows={2}
      print={(value) => listOf(value).map(shown).join("\n")}
      parse={(text) => {
        const found = linesOf(text).map((line) => {
          const parsed = kind.parse(line, field);
          return "value" in parsed ? (parsed.value as Json) : line;
        });
        return { value: found.length === 0 ? undefined : found };
      }}
    />
  );
}

function Value(props: ControlProps) {
  const { owner, value, set, attributes } = props;
  const field = modelOf(owner);
  if (owner.object.list === true || isList(value)) return <JsonValue {...props} />;
  const { Input } = kindOf(field);
  return (
    <Input
      key={field.type}
      field={field}
      value={value ?? null}
      onChange={(next) => set(next === null || next === undefined ? undefined : (next as Json))}
      attributes={attributes}
      orb=""
      managed
    />
  );
}

function Bound(props: ControlProps) {
  const { owner } = props;
  const { type } = owner.object;
  const length = isFieldType(type) && traitsOf(type).bounds !== "value";
  return (
    <Value
      {...props}
      owner={{ ...owner, object: { ...owner.object, list: false, ...(length ? { type: "integer" } : {}) } }}
    />
  );
}

const Whole = (props: ControlProps) => (
  <Value {...props} owner={{ ...props.owner, object: { type: "integer" } }} />
);

function Colour(props: ControlProps) {
  const { value, set, attribute } = props;
  return (
    <div class="colour">
      <input
        type="color"
        aria-label={t("schema.pickColour", { name: t(`attribute.${attribute.name}`) })}
        value={/^#[0-9a-f]{6}$/i.test(textOf(value)) ? textOf(value) : "#3a4fd8"}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
      <Text {...props} />
    </div>
  );
}

export const CONTROLS: Readonly<Record<Control, ComponentType<ControlProps>>> = {
  id: Text,
  text: Text,
  long: Long,
  flag: Flag,
  unless: Flag,
  allLanguages: AllLanguages,
  number: Whole,
  choice: Choice,
  suggest: Suggest,
  several: Several,
  refs: Refs,
  lines: Lines,
  values: Values,
  value: Value,
  bound: Bound,
  json: JsonValue,
  conversion: Conversion,
  moves: Moves,
  colour: Colour,
  secret: Secret,
  access: AccessControl,
};

/** Inputs with a label, a hint and an error. */
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { t } from "../texts/t.ts";

export interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** The validation error for the value, such as `must be at least 5 characters long (is 3)`. */
  error?: string | undefined;
  required?: boolean;
  /** Content to show next to the label, such as a language. */
  aside?: ComponentChildren;
}

/** A field of an entry. */
interface NamedProps extends FieldProps {
  /** Name of the entry's field, by which the form finds what the user edits. */
  name?: string | undefined;
  /** JSON Pointer of the field in the entry, by which the preview finds its input. */
  place?: string;
}

/** HTML attributes that connect an input with its label, hint and error. */
export interface InputAttributes {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": "true" | undefined;
  /** The direction of what the user types decides the direction of the input. Code is always left to right. */
  dir?: "auto" | "ltr";
  /** Set only for an input without a visible label, such as an item of a list. */
  "aria-label"?: string;
}

/** Adds a label, a hint and an error to any input. */
export function Field({
  label,
  hint,
  error,
  required,
  aside,
  name,
  place,
  children,
}: NamedProps & { children: (attributes: InputAttributes) => ComponentChildren }) {
  const id = useId();
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`];
  return (
    <div class={`field ${error === undefined ? "" : "wrong"}`} data-field={name} data-path={place}>
      <div class="field-label">
        <label for={id} id={`${id}-label`} dir="auto">
          {label}
          {required === true ? <span class="required"> {t("ui.required")}</span> : null}
        </label>
        {aside}
      </div>
      {children({
        id,
        "aria-describedby": described.join(" ").trim() || undefined,
        "aria-invalid": error === undefined ? undefined : "true",
        dir: "auto",
      })}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`} dir="auto">
          {hint}
        </p>
      )}
      {error === undefined ? null : (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

type Given<E extends EventTarget> = Omit<JSX.HTMLAttributes<E>, "onChange" | "label" | "value"> & {
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  name?: string;
  disabled?: boolean;
  autocomplete?: string;
  type?: string;
  rows?: number;
  wrap?: string;
};

/** Separates the properties of the label, hint and error from the properties of the input. */
const split = <P extends FieldProps>({ label, hint, error, required, aside, ...input }: P) => ({
  field: { label, hint, error, aside, required: required === true },
  input,
});

/** Returns the direction of an input: code is left to right. */
const dirOf = (name: unknown): "auto" | "ltr" =>
  typeof name === "string" && name.split(" ").includes("mono") ? "ltr" : "auto";

export function TextField(props: FieldProps & Given<HTMLInputElement>) {
  const { field, input } = split(props);
  const { onChange, ...rest } = input;
  return (
    <Field {...field}>
      {(attributes) => (
        <input
          type="text"
          autocomplete="off"
          {...rest}
          {...attributes}
          dir={dirOf(rest.class)}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function TextArea(props: FieldProps & Given<HTMLTextAreaElement>) {
  const { field, input } = split(props);
  const { onChange, ...rest } = input;
  return (
    <Field {...field}>
      {(attributes) => (
        <textarea
          rows={6}
          {...rest}
          {...attributes}
          dir={dirOf(rest.class)}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface Option {
  value: string;
  label: string;
}

export function SelectField(props: FieldProps & Given<HTMLSelectElement> & { options: readonly Option[] }) {
  const { field, input } = split(props);
  const { options, onChange, ...rest } = input;
  return (
    <Field {...field}>
      {(attributes) => (
        <select
          {...rest}
          {...attributes}
          dir={undefined}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {options.map(({ value, label: text }) => (
            <option key={value} value={value} dir="auto">
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Checkbox({
  label,
  checked,
  onChange,
  hint,
  disabled,
}: {
  label: ComponentChildren;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hint?: string;
  disabled?: boolean;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span dir="auto">
        {label}
        {hint === undefined ? null : <span class="hint"> {hint}</span>}
      </span>
    </label>
  );
}

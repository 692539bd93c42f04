/** A form for the attributes of one object in the document. The tables in `attributes.ts` describe the attributes. */
import { useId } from "preact/hooks";
import type { Fault } from "../../../../shared/client/problem.ts";
import { has, t } from "../../texts/t.ts";
import { Field } from "../../ui/form.tsx";
import { faultAt } from "../../ui/problem.tsx";
import type { Editor } from "../document/editor.ts";
import { below, type Json, objectOf, valueAt, withValue } from "../document/pointer.ts";
import { withId } from "../document/rename.ts";
import { type Attribute, attributesOf, type Kind, type Owner } from "./attributes.ts";
import { CONTROLS } from "./controls.tsx";

function Row({
  attribute,
  owner,
  faults,
  set,
  leave,
}: {
  attribute: Attribute;
  owner: Owner;
  faults: readonly Fault[];
  set: (value: Json | undefined) => void;
  /** Called when the focus leaves the input. */
  leave: () => void;
}) {
  const id = useId();
  const key = attribute.label ?? attribute.name;
  const path = below(owner.path, attribute.name);
  const Input = CONTROLS[attribute.control];
  const hint = has(`hint.${key}`) ? t(`hint.${key}` as Parameters<typeof t>[0]) : undefined;
  const error = faultAt(faults, path);
  const value = owner.object[attribute.name];
  const { control } = attribute;
  const alone = control === "flag" || control === "unless" || control === "allLanguages";
  const group = control === "several" || control === "refs" || control === "access";
  const props = { attribute, owner, value, set };
  return (
    <div class={`attribute ${attribute.half === true ? "" : "whole"}`} data-path={path} onFocusOut={leave}>
      {alone || group ? (
        <fieldset class={`field ${error === undefined ? "" : "wrong"}`} aria-describedby={`${id}-notes`}>
          <legend class={alone ? "sr-only" : ""}>{t(`attribute.${key}`)}</legend>
          <Input
            {...props}
            attributes={{ id: "", "aria-describedby": undefined, "aria-invalid": undefined }}
          />
          <div id={`${id}-notes`} class={alone ? "indented" : ""}>
            {hint === undefined ? null : <p class="hint">{hint}</p>}
            {error === undefined ? null : <p class="error">{error}</p>}
          </div>
        </fieldset>
      ) : (
        <Field
          label={t(`attribute.${key}`)}
          required={attribute.required === true}
          error={error}
          {...(hint === undefined ? {} : { hint })}
        >
          {(attributes) => <Input {...props} attributes={attributes} />}
        </Field>
      )}
    </div>
  );
}

export function AttributeForm({ editor, kind, path }: { editor: Editor; kind: Kind; path: string }) {
  const document = editor.document.value;
  const owner: Owner = { object: objectOf(valueAt(document, path)), path, document };
  return (
    <div class="attributes">
      {attributesOf(kind, owner).map((attribute) => (
        <Row
          key={`${attribute.name} ${attribute.control}`}
          attribute={attribute}
          owner={owner}
          faults={editor.shownFaults.value}
          leave={() => editor.touch(below(path, attribute.name))}
          set={(value) => {
            const place = below(path, attribute.name);
            const now = editor.document.value;
            const next =
              attribute.control === "id" && typeof value === "string"
                ? withId(now, path, value)
                : withValue(now, place, value);
            editor.edit(next, place);
          }}
        />
      ))}
    </div>
  );
}

/** Lays out fields in sections and columns. */
import type { ComponentType } from "preact";
import type { FieldModel } from "../../../model/orb.ts";
import type { FormContext } from "./context.ts";

interface Section {
  title: string | undefined;
  fields: FieldModel[];
}

/** Returns the sections in the order of their first fields. Fields without a section come first. */
function sectionsOf(fields: readonly FieldModel[]): Section[] {
  const sections = new Map<string | undefined, FieldModel[]>();
  for (const field of fields) sections.set(field.group, [...(sections.get(field.group) ?? []), field]);
  const rest = sections.get(undefined) ?? [];
  sections.delete(undefined);
  return [
    ...(rest.length === 0 ? [] : [{ title: undefined, fields: rest }]),
    ...[...sections].map(([title, found]) => ({ title, fields: found })),
  ];
}

interface LayoutProps {
  fields: readonly FieldModel[];
  context: FormContext;
  /** Edits one field. */
  Editor: ComponentType<{ field: FieldModel; context: FormContext }>;
}

function Grid({ fields, context, Editor }: LayoutProps) {
  return (
    <div class="field-grid">
      {fields.map((field) => (
        <div key={field.name} class={`of-${field.width ?? "full"}`}>
          <Editor field={field} context={context} />
        </div>
      ))}
    </div>
  );
}

export function Layout({ fields, context, Editor }: LayoutProps) {
  return (
    <>
      {sectionsOf(fields).map(({ title, fields: inside }) =>
        title === undefined ? (
          <Grid key="" {...{ context, Editor }} fields={inside} />
        ) : (
          <fieldset key={title} class="form-section">
            <legend dir="auto">{title}</legend>
            <Grid {...{ context, Editor }} fields={inside} />
          </fieldset>
        ),
      )}
    </>
  );
}

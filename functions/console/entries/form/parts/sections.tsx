/** The fields of a form: in sections, in columns, and without those whose rule is not met. */
import type { FieldModel } from "../../../model/orb.ts";
import type { FormContext } from "./context.ts";
import { FieldEditor } from "./field.tsx";
import { useHidden } from "./hidden.ts";
import { Layout } from "./layout.tsx";

export function Sections({ fields, context }: { fields: readonly FieldModel[]; context: FormContext }) {
  const { schema, faults } = context;
  const hidden = useHidden(schema.fields, context);
  const isWrong = ({ name }: FieldModel) =>
    faults.some(({ path }) => path === `/values/${name}` || path.startsWith(`/values/${name}/`));
  const shown = fields.filter((field) => !hidden.has(field.name) || isWrong(field));
  if (shown.every(({ group, width }) => group === undefined && width === undefined))
    return (
      <>
        {shown.map((field) => (
          <FieldEditor key={field.name} field={field} context={context} />
        ))}
      </>
    );
  return <Layout {...{ context }} fields={shown} Editor={FieldEditor} />;
}

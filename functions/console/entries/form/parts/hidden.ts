/** Which fields of a form are hidden, because their rule is not met. */
import { useEffect, useState } from "preact/hooks";
import type { Content } from "../../../model/cells.ts";
import { type FieldModel, shapesOf } from "../../../model/orb.ts";
import type { FormContext } from "./context.ts";

/** Fewer steps than the platform allows, because the form evaluates the rules after each key. */
const STEPS = 20_000;

type Values = Content["values"];

/** What rules read of each version of the form. All objects of the form have rules over the same entry. */
const known = new WeakMap<Values, Readonly<Record<string, unknown>>>();

/**
 * Returns the names of the fields to hide. Loads the engine of rules only for forms with rules.
 * @param object the values of the object that has the fields; undefined for the fields of the schema
 */
export function useHidden(
  fields: readonly FieldModel[],
  { schema, orb, draft }: Pick<FormContext, "schema" | "orb" | "draft">,
  object?: Values,
): ReadonlySet<string> {
  const isConditional = fields.some(({ showIf }) => showIf !== undefined);
  const [engine, setEngine] = useState<{ hidden: (entry: Values, own?: Values) => ReadonlySet<string> }>();
  useEffect(() => {
    if (!isConditional) return;
    let isCurrent = true;
    void import("../../../../../shared/logic/shown.ts").then(({ factsInside, factsOf, hiddenFields }) => {
      const budget = () => ({ steps: STEPS, deadline: Number.POSITIVE_INFINITY, now: () => 0 });
      const inside = (field: FieldModel, object: Readonly<Record<string, unknown>>) => {
        const shapes = shapesOf(field, orb);
        const shape =
          field.type === "object" ? shapes[0] : shapes.find(({ component }) => component === object._type);
        return shape?.fields;
      };
      const hidden = (entry: Values, own?: Values) => {
        const facts = known.get(entry) ?? factsOf(schema.fields, entry, orb, inside);
        known.set(entry, facts);
        return hiddenFields(
          fields,
          own === undefined ? facts : factsInside(fields, own, facts, orb, inside),
          budget(),
        );
      };
      if (isCurrent) setEngine({ hidden });
    });
    return () => {
      isCurrent = false;
    };
  }, [isConditional, fields, schema, orb]);
  return engine?.hidden(draft.values, object) ?? new Set();
}

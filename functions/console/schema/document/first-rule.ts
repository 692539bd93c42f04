/** The rule with which the form of a field begins. */

/** Returns a rule to begin with. That of a field which is back reads the fields that took its place. */
export const firstRule = ({
  code,
  candidates: [heir] = [],
}: {
  code: string;
  candidates?: readonly string[] | undefined;
}) => ({
  var: code === "converted_field" && heir !== undefined ? `values.${heir}` : "value",
});

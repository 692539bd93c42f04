/** Which field of a schema names its entries, for people. The platform and the console use the same rule. */

interface Named {
  readonly name: string;
  readonly type: string;
  readonly list?: boolean | undefined;
  readonly sensitive?: boolean | undefined;
}

/** Returns whether a field has a name like `title`. */
export const isTitleName = (name: string): boolean => /^(title|name|headline|label|subject)$/i.test(name);

/**
 * Returns the field that names the entries of a schema: the first text field with a name like `title`, or else the first
 * text field.
 */
export function titleAmong<F extends Named>(fields: readonly F[]): F | undefined {
  const texts = fields.filter(
    ({ type, list, sensitive }) => type === "string" && list !== true && sensitive !== true,
  );
  return texts.find(({ name }) => isTitleName(name)) ?? texts[0];
}

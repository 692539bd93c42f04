/** Rules of fields that all systems have. */

/** Reports a rule of a field that an orb cannot have: why, and what became of the field. */
export type Tell = (why: string, became: string) => void;

/** What another system says of a field. */
export interface SourceRules {
  isRequired: boolean;
  isUnique: boolean;
  /** Whether an orb can require unique values of the field's type. */
  mayBeUnique: boolean;
  /** The default as the other system states it. */
  given: unknown;
  /** The default as an orb states it; undefined if it has no counterpart. */
  usual: unknown;
  min?: number | undefined;
  max?: number | undefined;
}

/** Returns the rules of a field as a definition states them. Reports those that have no counterpart. */
export function rulesFrom(rules: SourceRules, tell: Tell): Record<string, unknown> {
  const { isRequired, isUnique, mayBeUnique, given, usual, min, max } = rules;
  if (isUnique && !mayBeUnique) tell("values of this type cannot be unique", "the field without this rule");
  if (usual === undefined && given !== undefined && given !== null)
    tell(`there is no counterpart of the default ${JSON.stringify(given).slice(0, 100)}`, "no default");
  return {
    ...(isRequired ? { required: true } : {}),
    ...(isUnique && mayBeUnique ? { unique: true } : {}),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(usual === undefined ? {} : { default: usual }),
  };
}

import type { Context } from "hono";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { variantsIn } from "../../shared/files/image-facts.ts";
import type { FileRecord } from "../../shared/files/record.ts";
import { THUMBNAIL, type Variant, variantOf, variantQuery } from "../../shared/images/variant.ts";
import { invalidParameters } from "../../shared/kernel/errors.ts";
import { knownParameters } from "../../shared/kernel/faults.ts";
import type { AppEnv } from "../request/context.ts";

/** Returns the query parameters. Throws 400 if one is unknown or occurs twice. */
export function parametersOf<const N extends string>(
  c: Context<AppEnv>,
  names: readonly N[],
): Partial<Record<N, string>> {
  const given: [string, string][] = [...new URL(c.req.url).searchParams];
  const faults = given.flatMap(([key], at) => {
    const path = `/${key.slice(0, 64)}`;
    if (!names.some((name) => name === key))
      return [{ path, code: "unknown_parameter", message: knownParameters(names) }];
    const isFirst = given.findIndex(([other]) => other === key) === at;
    return isFirst ? [] : [{ path, code: "duplicate", message: "must be given only once" }];
  });
  if (faults.length > 0) throw invalidParameters(faults);
  return Object.fromEntries(given) as Partial<Record<N, string>>;
}

export const VARIANT_PARAMETERS = ["w", "h", "fit", "format"] as const;

/**
 * Returns the variant of an image (a smaller copy) that the query asks for. Returns undefined if the query asks for
 * no variant. Each image has the variant of lists of files.
 * @throws AppError 400 if the schemas of the file's entries do not list the variant
 */
export function variantIn(
  query: Partial<Record<(typeof VARIANT_PARAMETERS)[number], string>>,
  { compiled }: LiveOrb,
  record: FileRecord,
): Variant | undefined {
  const given = VARIANT_PARAMETERS.filter((name) => query[name] !== undefined);
  const [first] = given;
  if (first === undefined) return undefined;
  const { w, h, fit, format } = { ...variantOf({}), ...query };
  const wanted = JSON.stringify([w, h, fit, format].map(String));
  const listed = variantsIn(compiled, record.entries);
  const found = [...listed, THUMBNAIL].find(
    (each) => JSON.stringify([each.w, each.h, each.fit, each.format].map(String)) === wanted,
  );
  if (found !== undefined) return found;
  const names = [...new Set(listed.map(variantQuery))];
  const message =
    names.length === 0
      ? "must not be given, because the field of this file has no variants"
      : `must be one of the field's variants: ${names.join(", ")}`;
  throw invalidParameters([{ path: `/${first}`, code: "unknown_variant", message }]);
}

/** Makes the slugs that a write leaves out. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { sourceOf } from "../../definition/document/index.ts";
import { MAX_SLUG } from "../../definition/fields/index.ts";
import type { Deps } from "../../deps.ts";
import { isObject } from "../../kernel/json.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { streams } from "../../store/subjects.ts";
import { slugOf } from "../../texts/slug.ts";
import { addressOf, keySubject, uniqueTokens } from "../model/index.ts";

/** Maximum characters of a slug that is made, so that it stays readable. Its suffix comes in addition. */
const MADE_LENGTH = 80;
/** Numbers after the slug: those that are tried together. */
const ROUNDS = [
  [1, 8],
  [9, 40],
  [41, 200],
] as const;

interface Wanted {
  id: string;
  given: unknown;
  /** Values of the newest revision. */
  stored: Readonly<Record<string, unknown>>;
  /** Number of earlier attempts of this write, which failed because another write took the slug. */
  attempt?: number | undefined;
}

export interface WithSlugs {
  given: unknown;
  /** Index keys of the slugs that were made. Another attempt may make others. */
  made: string[];
}

/** A slug in one language and market. */
interface Place {
  field: CompiledField;
  market: string | undefined;
  language: string | undefined;
}

function at(value: unknown, trail: readonly (string | undefined)[]): unknown {
  let found = value;
  for (const key of trail) {
    if (key === undefined) continue;
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

function put(value: unknown, [key, ...rest]: readonly string[], text: string | null): unknown {
  if (key === undefined) return text;
  const map = isObject(value) ? value : {};
  return { ...map, [key]: put(Object.hasOwn(map, key) ? map[key] : undefined, rest, text) };
}

const trailOf = ({ market, language }: Place) => [market, language].filter((key) => key !== undefined);

function placesOf(schema: CompiledSchema, field: CompiledField): Place[] {
  const markets = field.marketSpecific ? schema.markets : [undefined];
  const languages = field.translatable ? schema.languages : [undefined];
  return markets.flatMap((market) => languages.map((language) => ({ field, market, language })));
}

/** Returns the text of the source field, in the place of the slug or else in the default language and market. */
function sourceText(schema: CompiledSchema, place: Place, given: Readonly<Record<string, unknown>>): string {
  const source = schema.fields.get(sourceOf(place.field.definition) ?? "");
  if (source === undefined) return "";
  const value = at(Object.hasOwn(given, source.name) ? given[source.name] : undefined, [
    source.marketSpecific ? (place.market ?? schema.markets[0]) : undefined,
    source.translatable ? (place.language ?? schema.languages[0]) : undefined,
  ]);
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function keyOf(deps: Deps, schema: CompiledSchema, { field, market, language }: Place, slug: string) {
  return uniqueTokens(deps.config, schema, field, slug, market, language).then((tokens) =>
    tokens.map((token) => `u.${field.name}.${token}`),
  );
}

/**
 * Returns the first slug that no other entry has: `chair`, `chair-2` and so on. Two writes may choose the same one at
 * the same time. Then the broker refuses the second, and its next attempt chooses another. From the third attempt on,
 * the choice is random, because many writes may compete.
 */
async function freeSlug(
  deps: Deps,
  schema: CompiledSchema,
  place: Place,
  base: string,
  { id, attempt = 0 }: Wanted,
): Promise<{ slug: string; keys: string[] }> {
  const most = Number(place.field.definition.max ?? MAX_SLUG);
  const numbered = (suffix: string) => `${slugOf(base, "", Math.max(1, most - suffix.length))}${suffix}`;
  const choices = attempt < 2 ? 1 : 2 ** Math.min(attempt, 6);
  for (const [first, last] of ROUNDS) {
    const slugs = Array.from({ length: last - first + 1 }, (_, index) =>
      first + index === 1 ? base : numbered(`-${first + index}`),
    );
    const all = await Promise.all(
      slugs.map(async (slug) => ({ slug, keys: await keyOf(deps, schema, place, slug) })),
    );
    const address = addressOf(schema, id);
    const found = await deps.store.getMany(
      streams.orb(address.orb),
      all.flatMap(({ keys }) => keys.map((key) => keySubject(address, key))),
      { maxBytes: SMALL_BYTES },
    );
    const free = all.filter(({ keys }) =>
      keys.every((key) => ["", id].includes(found.get(keySubject(address, key))?.text() ?? "")),
    );
    const chosen = free[Math.floor(Math.random() * Math.min(choices, free.length))];
    if (chosen !== undefined) return chosen;
  }
  const slug = numbered(`-${deps.newId().slice(-8).toLowerCase()}`);
  return { slug, keys: await keyOf(deps, schema, place, slug) };
}

/**
 * Returns values in which slugs that the platform chose are null, so that {@link withSlugs} chooses them again.
 * @param made index keys of these slugs
 */
export async function withoutMade(
  deps: Deps,
  schema: CompiledSchema,
  given: Readonly<Record<string, unknown>>,
  made: readonly string[],
): Promise<Record<string, unknown>> {
  const out: Record<string, unknown> = { ...given };
  if (made.length === 0) return out;
  for (const field of schema.slugs) {
    for (const place of placesOf(schema, field)) {
      const trail = trailOf(place);
      const slug = at(out[field.name], trail);
      if (typeof slug !== "string") continue;
      const keys = await keyOf(deps, schema, place, slug);
      if (keys.length > 0 && keys.every((key) => made.includes(key)))
        out[field.name] = put(out[field.name], trail, null);
    }
  }
  return out;
}

/**
 * Returns the values with the slugs that they leave out: those that the entry has, so that its addresses stay when the
 * title changes, or else new ones. A slug that is null is made again.
 */
export async function withSlugs(deps: Deps, schema: CompiledSchema, wanted: Wanted): Promise<WithSlugs> {
  const { stored } = wanted;
  const made: string[] = [];
  if (!isObject(wanted.given)) return { given: wanted.given, made };
  const given: Record<string, unknown> = { ...wanted.given };
  for (const field of schema.slugs) {
    for (const place of placesOf(schema, field)) {
      const trail = trailOf(place);
      const own = Object.hasOwn(given, field.name) ? given[field.name] : undefined;
      const isReplaceable = own === undefined || own === null || (trail.length > 0 && isObject(own));
      const sent = at(own, trail);
      if (!isReplaceable || (sent !== undefined && sent !== null)) continue;
      const text = sourceText(schema, place, given);
      const most = Math.min(MADE_LENGTH, Number(field.definition.max ?? MAX_SLUG));
      const base = slugOf(text, place.language ?? schema.languages[0] ?? "", most);
      if (base === "") continue;
      const kept = sent === undefined && own !== null ? at(stored[field.name], trail) : undefined;
      if (typeof kept === "string") {
        given[field.name] = put(own, trail, kept);
        continue;
      }
      const free = field.unique
        ? await freeSlug(deps, schema, place, base, wanted)
        : { slug: base, keys: [] };
      given[field.name] = put(own, trail, free.slug);
      made.push(...free.keys);
    }
  }
  return { given, made };
}

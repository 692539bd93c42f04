/** Makes names that the orb document allows of the names that another system has. */
import type { Loss } from "./source.ts";

const RESERVED = new Set([
  ...["id", "revision", "createdAt", "createdBy", "updatedAt", "updatedBy", "validFrom", "validTo"],
  ...["constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"],
  ...["toLocaleString", "sourceId"],
]);
const LENGTH = 63;

/** Remembers which names are given, so that no two names become the same one. */
export class Names {
  readonly #kind: "schema" | "field";
  readonly #at: string;
  readonly #losses: Loss[];
  readonly #given = new Map<string, string>();
  readonly #taken = new Set<string>();

  /**
   * @param at what contains the names, for messages
   * @param losses takes the names that had to change
   */
  constructor(kind: "schema" | "field", at: string, losses: Loss[]) {
    this.#kind = kind;
    this.#at = at;
    this.#losses = losses;
  }

  /** Returns the name for a name of the other system; the same one at each call. */
  of(source: string): string {
    const known = this.#given.get(source);
    if (known !== undefined) return known;
    const name = this.#free(this.#allowed(source));
    this.#given.set(source, name);
    this.#taken.add(formOf(name));
    if (name !== source)
      this.#losses.push({
        kind: "model",
        at: `${this.#at} ${source}`.trim(),
        why: `the name is not allowed for a ${this.#kind}, or is taken`,
        became: name,
      });
    return name;
  }

  /** Returns names for what is inside of something that has a name. */
  within(at: string): Names {
    return new Names(this.#kind, at, this.#losses);
  }

  #allowed(source: string): string {
    const isSchema = this.#kind === "schema";
    const joint = isSchema ? "-" : "_";
    const parts = source
      .normalize("NFKD")
      .replaceAll(/\p{M}/gu, "")
      .split(isSchema ? /[^a-zA-Z0-9-]+/ : /[^a-zA-Z0-9_]+/);
    const kept = parts.filter((part) => part !== "").join(joint);
    const cut = kept.replace(/^[^a-zA-Z]+/, "").slice(0, LENGTH - 4);
    const name = cut === "" ? this.#kind : cut;
    return !isSchema && RESERVED.has(name) ? `source_${name}` : name;
  }

  #free(name: string): string {
    if (!this.#taken.has(formOf(name))) return name;
    for (let number = 2; ; number++) {
      const next = `${name}${this.#kind === "schema" ? "-" : "_"}${number}`;
      if (!this.#taken.has(formOf(next))) return next;
    }
  }
}

/** Schemas must differ in kebab-case, too. */
const formOf = (name: string) => name.replaceAll(/[-_]/g, "").toLowerCase();

/** Returns the code of a language as the orb document takes it. */
export function languageOf(code: string, losses: Loss[]): string {
  const text = code.replaceAll("_", "-");
  let language = "und";
  try {
    language = Intl.getCanonicalLocales(text)[0] ?? language;
  } catch {
    // The text is no language.
  }
  if (language !== code)
    losses.push({
      kind: "model",
      at: `language ${code}`,
      why: "it is not written as in BCP 47",
      became: language,
    });
  return language;
}

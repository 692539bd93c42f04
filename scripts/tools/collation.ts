/**
 * Derives the tables of `shared/collation` from the `Intl.Collator` of the Node that runs it:
 * `node scripts/tools/collation.ts`, then `npx biome format --write shared/collation`. Stored keys come from these tables. So if any key changes, raise `TABLES_VERSION`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import {
  ACCENT_BASE,
  CASE_BASE,
  CASE_STEP,
  FIRST_MARK,
  MOVED_BASE,
  NEXT,
  NEXT_ACCENT,
  NEXT_CASE,
  SAME_CASE,
} from "../../shared/collation/format.ts";

/** Languages whose letters belong to the scripts of the table. */
const LANGUAGES =
  "en af ast az be bg br bs ca cs cy da de el eo es et eu fi fil fo fr fr-CA fy ga gd gl gsw ha haw he hr hsb dsb hu hy id ig is it ka kk kl ky lb lt lv mg mk mn ms mt nb nl nn no om pl pt rm ro ru sk sl so sq sr sr-Latn sv sw tg tk to tr uk uz vi wo yo zu".split(
    " ",
  );

const NOT_ASSIGNED = /^[\p{Cn}\p{Co}\p{Cs}]$/u;
const IN_SCRIPTS =
  /^[\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Armn}\p{sc=Geor}\p{sc=Hebr}\p{sc=Arab}\p{sc=Zyyy}\p{sc=Zinh}]$/u;
/** Blocks: up to the supplemental mathematical operators, without technical symbols and phonetic extensions. */
const BLOCKS: readonly (readonly [number, number])[] = [
  [0x1, 0x1cff],
  [0x1dc0, 0x23ff],
  [0x25a0, 0x27bf],
  [0x2c60, 0x2c7f],
  [0xa640, 0xa7fe],
  [0xfb00, 0xfb06],
  [0xff01, 0xff5e],
];

const assigned = BLOCKS.flatMap(([low, high]) =>
  Array.from({ length: high - low + 1 }, (_, at) => String.fromCodePoint(low + at)),
).filter((text) => !NOT_ASSIGNED.test(text) && IN_SCRIPTS.test(text));
const CHARACTERS = assigned.filter((text) => text.normalize("NFD") === text);
const COMPOSED = assigned.filter((text) => {
  const parts = text.normalize("NFD");
  return parts !== text && parts.normalize("NFC") === text;
});
/** The character with the highest weight. */
const HIGHEST = "\uffff";
/** Combining grapheme joiner: has no weight, and keeps its neighbours from being sorted as one letter. */
const JOINER = "\u034f";
/** Groups of three letters that do not consist of a letter and a shorter group: the Breton c'h. */
const TRIPLES = ["'", "\u02bc", "\u2019"].flatMap((between) =>
  ["c h", "C h", "C H", "c H"].map((text) => text.replace(" ", between)),
);
const SCRIPTS: Readonly<Record<string, string>> = { Grek: "α", Cyrl: "а", Armn: "ա", Geor: "ა", Hebr: "א" };
const CASED = "abcdefghijklmnopqrstuvwxyzħ";
const ACCENTED = "àáâãäåæçèéêëìíîïñòóôöøùúûüýāąćčďđēęěğģıķłńņňőœřśşšťūůűźżžŋəṅẹọṣ";
const PAIRED = [...`${CASED}${ACCENTED}${(CASED + ACCENTED).toUpperCase()}·ʻʼ'’‘`];

interface Weight {
  letter: string;
  accent: number;
  case: number;
}

/** Joins letters so that they are not sorted as one. */
const joined = (...parts: string[]) => parts.filter((part) => part !== "").join(JOINER);

/** Texts with equal weights at the first level, in order. */
type Run = string[];

/** Compares texts in one language, and finds the weights of characters and groups of characters. */
class Language {
  readonly base: (a: string, b: string) => number;
  readonly accent: (a: string, b: string) => number;
  readonly variant: (a: string, b: string) => number;
  readonly ignored: string[] = [];
  readonly marks: Run[] = [];
  readonly letters: Run[] = [];
  readonly #expanded: string[] = [];
  readonly weights = new Map<string, Weight[]>();
  readonly #markOf = new Map<string, number>();

  constructor(language: string) {
    this.base = new Intl.Collator(language, { sensitivity: "base" }).compare;
    this.accent = new Intl.Collator(language, { sensitivity: "accent" }).compare;
    this.variant = new Intl.Collator(language, { sensitivity: "variant" }).compare;
    this.#classify([...CHARACTERS, ...this.#groups()]);
    this.#weighMarks();
    for (const run of this.letters) this.#weighRun(run);
    this.#weighExpanded();
  }

  /** Returns composed characters and pairs of letters that are not sorted like their parts. */
  #groups(): string[] {
    const isGroup = (parts: readonly string[]) => this.variant(parts.join(""), parts.join(JOINER)) !== 0;
    const composed = COMPOSED.filter((text) => isGroup([...text.normalize("NFD")])).map((text) =>
      text.normalize("NFD"),
    );
    const pairs = PAIRED.flatMap((a) =>
      PAIRED.filter((b) => isGroup([a, b])).map((b) => (a + b).normalize("NFD")),
    );
    // A group of three letters may begin with a letter before another group, such as the Hungarian "ccs".
    const longer = PAIRED.flatMap((first) =>
      pairs
        .filter((pair) => {
          const start = first + pair.slice(0, 1);
          return isGroup(pairs.includes(start) ? [start, pair.slice(1)] : [first, pair]);
        })
        .map((pair) => first + pair),
    );
    const triples = TRIPLES.filter((text) => isGroup([...text]));
    return [...new Set([...composed, ...pairs, ...longer, ...triples])];
  }

  #classify(texts: readonly string[]): void {
    const marks: string[] = [];
    const others: string[] = [];
    for (const text of texts) {
      if (this.variant(text, "") === 0) this.ignored.push(text);
      else if (this.base(text, "") === 0) marks.push(text);
      else others.push(text);
    }
    const ordered = (a: string, b: string) =>
      this.base(a, b) || this.accent(a, b) || this.variant(a, b) || a.length - b.length || (a < b ? -1 : 1);
    this.marks.push(...runsOf(marks.sort(ordered), this.accent));
    for (const run of runsOf(others.sort(ordered), this.base)) {
      const [first = ""] = run;
      const [before] = this.letters.at(-1) ?? [];
      if (before !== undefined && this.base(first, before + HIGHEST) < 0) this.#expanded.push(...run);
      else this.letters.push(run);
    }
  }

  #weighMarks(): void {
    for (const [at, run] of this.marks.entries())
      for (const [rank, same] of runsOf(run, this.variant).entries())
        for (const mark of same) {
          this.#markOf.set(mark, at);
          this.weights.set(mark, [{ letter: "", accent: FIRST_MARK + 2 * at, case: rank * CASE_STEP }]);
        }
  }

  /** Finds the weight of an accent that turns the text before it into another text. */
  #accentBetween(
    text: string,
    withMark: (mark: string) => string,
  ): { accent: number; exact: string | undefined } {
    let below = FIRST_MARK - 1;
    for (const [at, [mark = ""]] of this.marks.entries()) {
      const order = this.accent(withMark(mark), text);
      if (order === 0) return { accent: FIRST_MARK + 2 * at, exact: mark };
      if (order < 0) below = FIRST_MARK + 2 * at + 1;
    }
    return { accent: below, exact: undefined };
  }

  /** Weighs the forms of one letter: those that differ by case, and those that differ by an accent. */
  #weighRun(run: Run): void {
    const [letter = ""] = run;
    const [plain = [], ...accented] = runsOf(run, this.accent);
    const cases = runsOf(plain, this.variant);
    for (const [rank, same] of cases.entries())
      for (const text of same) this.weights.set(text, [{ letter, accent: 0, case: rank * CASE_STEP }]);
    let own = 0;
    for (const group of accented) {
      const [first = ""] = group;
      const { accent, exact } = this.#accentBetween(first, (mark) => letter + mark);
      const isOwn = exact === undefined && accent > FIRST_MARK + 2 * (this.marks.length - 1);
      if (isOwn) own++;
      for (const [rank, same] of runsOf(group, this.variant).entries()) {
        for (const text of same) {
          if (isOwn) {
            this.weights.set(text, [{ letter, accent: own, case: rank * CASE_STEP }]);
            continue;
          }
          const place =
            exact === undefined ? rank * CASE_STEP : this.#caseOf(plain, text, (form) => form + exact);
          this.weights.set(text, [
            { letter, accent: 0, case: place },
            { letter: "", accent, case: 0 },
          ]);
        }
      }
    }
  }

  /** Returns the case of a text among the cases of a letter. */
  #caseOf(plain: Run, text: string, complete: (form: string) => string): number {
    let found = 0;
    for (const form of plain) {
      const [weight] = this.weights.get(form) ?? [];
      const order = this.variant(complete(form), text);
      if (order === 0) return weight?.case ?? 0;
      if (order < 0) found = (weight?.case ?? 0) + 1;
    }
    return found;
  }

  /** Weighs characters that are sorted like several letters, such as æ. */
  #weighExpanded(): void {
    const groups = new Map<string, string[]>();
    for (const text of this.#expanded) {
      const parts = this.#lettersOf(text);
      // The language moves a letter to which the root expands the character. The character keeps its weights.
      if (parts === undefined) continue;
      const key = parts.join(NEXT);
      groups.set(key, [...(groups.get(key) ?? []), text]);
    }
    for (const [key, texts] of groups) {
      const parts = key.split(NEXT);
      const [first = "", ...more] = parts;
      const rest = joined(...more);
      const plain = this.letters.find(([one]) => one === first) ?? [];
      const forms = plain.filter((form) => this.accent(form, first) === 0);
      for (const group of runsOf(texts, this.accent)) {
        const [one = ""] = group;
        const { accent } =
          this.accent(one, joined(first, rest)) === 0
            ? { accent: 0 }
            : this.#accentBetween(one, (mark) => joined(first, mark, rest));
        for (const [rank, same] of runsOf(group, this.variant).entries())
          for (const text of same) {
            const place =
              accent === 0 ? this.#caseOf(forms, text, (form) => joined(form, rest)) : rank * CASE_STEP;
            const [head, ...tail] = parts.map((letter) => ({ letter, accent: 0, case: 0 }));
            this.weights.set(text, [
              { letter: head?.letter ?? "", accent: 0, case: place },
              ...(accent === 0 ? [] : [{ letter: "", accent, case: 0 }]),
              ...tail,
            ]);
          }
      }
    }
  }

  /** Returns the letters like which a character is sorted; undefined if the language has no such letters. */
  #lettersOf(text: string): string[] | undefined {
    const parts: string[] = [];
    while (parts.length < 20) {
      const next = this.letters.findLast(
        ([letter = ""]) => this.base(joined(...parts, letter), text) <= 0,
      )?.[0];
      if (next === undefined) break;
      parts.push(next);
      if (this.base(joined(...parts), text) === 0) return parts;
    }
    return undefined;
  }
}

/** Splits sorted texts where two neighbours differ. */
function runsOf(texts: readonly string[], compare: (a: string, b: string) => number): Run[] {
  const runs: Run[] = [];
  for (const text of texts) {
    const last = runs.at(-1);
    if (last?.[0] !== undefined && compare(last[0], text) === 0) last.push(text);
    else runs.push([text]);
  }
  return runs;
}

const isPlain = (weights: readonly Weight[] | undefined) =>
  weights?.length === 1 && weights[0]?.letter !== "";

function marksText(language: Language): string {
  return language.marks.map((run) => casesText(runsOf(run, language.variant))).join(NEXT);
}

const casesText = (runs: readonly Run[]) => runs.map((same) => same.join(SAME_CASE)).join(NEXT_CASE);

function lettersText(language: Language): string {
  return language.letters
    .map((run) =>
      runsOf(
        run.filter((text) => isPlain(language.weights.get(text))),
        language.accent,
      )
        .map((group) => casesText(runsOf(group, language.variant)))
        .join(NEXT_ACCENT),
    )
    .join(NEXT);
}

interface Moved {
  anchor: string;
  after: number;
}

function elementText(text: string, weights: readonly Weight[], moved?: ReadonlyMap<string, Moved>): string {
  const parts = weights.map(({ letter, accent, case: rank }) => {
    const place = moved?.get(letter);
    const start = place === undefined ? letter : place.anchor + String.fromCharCode(MOVED_BASE + place.after);
    return start + String.fromCharCode(ACCENT_BASE + accent, CASE_BASE + rank);
  });
  return text + NEXT_CASE + parts.join("");
}

/** Returns the longest sequence of letters whose places in the root ascend. */
function inOrder(letters: readonly string[], places: ReadonlyMap<string, number>): Set<string> {
  const best: { length: number; before: number }[] = [];
  let end = -1;
  for (const [at, letter] of letters.entries()) {
    const place = places.get(letter) ?? -1;
    let [length, before] = [1, -1];
    for (let other = 0; other < at && place >= 0; other++) {
      const otherPlace = places.get(letters[other] ?? "") ?? -1;
      const reached = best[other]?.length ?? 0;
      if (otherPlace >= 0 && otherPlace < place && reached + 1 > length)
        [length, before] = [reached + 1, other];
    }
    best.push({ length: place < 0 ? 0 : length, before });
    if (place >= 0 && (end < 0 || length > (best[end]?.length ?? 0))) end = at;
  }
  const kept = new Set<string>();
  for (let at = end; at >= 0; at = best[at]?.before ?? -1) kept.add(letters[at] ?? "");
  return kept;
}

function tailoring(tag: string, root: Language) {
  const language = new Language(tag);
  const front = Object.entries(SCRIPTS).find(([, letter]) => language.base(letter, "a") < 0)?.[0];
  const inFront = front === undefined ? undefined : new RegExp(`^\\p{sc=${front}}`, "u");
  const rootLetters = root.letters.map(([letter = ""]) => letter);
  const first = rootLetters.filter((letter) => inFront?.test(letter) === true);
  const rest = rootLetters.filter((letter) => inFront?.test(letter) !== true);
  const latin = rest.indexOf("a");
  const order = [...rest.slice(0, latin), ...first, ...rest.slice(latin)];
  const places = new Map(order.map((letter, at) => [letter, at]));
  const letters = language.letters.map(([letter = ""]) => letter);
  const kept = inOrder(letters, places);
  const moved = new Map<string, Moved>();
  let anchor = "";
  let after = 0;
  for (const letter of letters) {
    if (kept.has(letter)) [anchor, after] = [letter, 0];
    else moved.set(letter, { anchor, after: after++ });
  }
  const elements: string[] = [];
  for (const [text, weights] of language.weights) {
    const same = JSON.stringify(root.weights.get(text)) === JSON.stringify(weights);
    if (weights[0]?.letter === "" && weights.length === 1) continue;
    if (!same || weights.some(({ letter }) => moved.has(letter)))
      elements.push(elementText(text, weights, moved));
  }
  const marks = marksText(language);
  const backwards = language.accent("éa", "eá") < 0;
  return {
    ...(front === undefined ? {} : { front }),
    ...(backwards ? { backwards: true } : {}),
    ...(marks === marksText(root) ? {} : { marks }),
    ...(elements.length === 0 ? {} : { elements: elements.join(NEXT) }),
  };
}

/** Writes a text with escapes, because many of its characters are invisible. */
const literal = (value: unknown) =>
  JSON.stringify(value).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function write(file: string, head: string, lines: readonly string[]): void {
  const path = new URL(`../../shared/collation/${file}`, import.meta.url);
  writeFileSync(path, `${head}\n${lines.join("\n")}\n`);
  console.log(file, readFileSync(path).length, "bytes");
}

const root = new Language("en");
const elements = [...root.weights]
  .filter(([, weights]) => !isPlain(weights) && !(weights.length === 1 && weights[0]?.letter === ""))
  .map(([text, weights]) => elementText(text, weights));
const NOTE = `made by scripts/tools/collation.ts with ICU ${process.versions.icu} (Unicode ${process.versions.unicode}).`;
write("root.ts", `/** How texts are sorted in most languages: ${NOTE} */\nexport const ROOT = {`, [
  `  ignored:\n    ${literal(root.ignored.join(""))},`,
  `  letters:\n    ${literal(lettersText(root))},`,
  `  marks:\n    ${literal(marksText(root))},`,
  `  elements:\n    ${literal(elements.join(NEXT))},`,
  "};",
]);
write(
  "tailorings.ts",
  `/** How languages differ from \`root.ts\`: ${NOTE} */\nimport type { Tailoring } from "./format.ts";\n\nexport const TAILORINGS: Readonly<Record<string, Tailoring>> = {`,
  [...LANGUAGES.map((tag) => `  ${JSON.stringify(tag)}: ${literal(tailoring(tag, root))},`), "};"],
);

/**
 * Sort keys of texts: strings whose order by code units is the order of the texts in a language. JavaScript can compare
 * two texts in a language (`Intl.Collator`), but it returns no keys, and the result depends on the version of the
 * runtime. Indexes store keys, so the keys must not change. They are computed from the tables in `root.ts` and
 * `tailorings.ts`, as the Unicode Collation Algorithm (UTS 10) describes.
 *
 * A key has three levels: letters, then accents, then case. Each level counts only if the ones before are equal.
 */
import { BoundedMap } from "../kernel/bounded-map.ts";
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
  type Tailoring,
} from "./format.ts";
import { ROOT } from "./root.ts";
import { TAILORINGS } from "./tailorings.ts";

/**
 * Version of the tables. It is part of the name of each index, so keys of different versions never meet. Raise it if
 * any key changes.
 */
export const TABLES_VERSION = 1;

/** Only this many code units of a text count, so that making a key takes a bounded time. */
export const LONGEST_TEXT = 400;

/** Ends a level. Lower than all weights. */
const LEVEL_END = "!";
/** First unit of each level. */
const FIRST_UNIT = 0x23;
const BACKSLASH = 0x5c;
/** Units for letters that no table has. They come after all letters, in the order of their code points. */
const OTHERS = { letter: "\u04fd", han: "\u04fe", otherHan: "\u04ff" };
/**
 * Most letters have one unit, below these. The others have the unit of the letter before them, and one or two of these.
 * So they come after all texts that continue the letter before them.
 */
const MOVED_UNIT = 0x500;
const FURTHER_UNIT = 0x600;
const OTHER_UNIT = 0x2000;
/** Marks after a letter that may belong to a group. */
const MOST_MARKS = 8;
/** Bits of a code point that its last unit has. */
const LOW_BITS = 11;
/** Weight of a mark that no table has, above all others. */
const OTHER_MARK = 0x1ff;

/** A part of the key of a text: one letter, or an accent without a letter. */
interface Weight {
  letter: string;
  accent: number;
  case: number;
}

/** Groups of characters that begin with the same one, and are sorted as one letter each. */
interface Groups {
  longest: number;
  seconds: Set<string>;
}

interface Table {
  weights: ReadonlyMap<string, readonly Weight[]>;
  /** Groups, by their first character. */
  groups: ReadonlyMap<string, Groups>;
  backwards: boolean;
  /** Units of the last symbol. */
  symbol: string;
}

/** Letters and symbols that have one unit: those of ASCII, and the usual ones of the scripts that have tables. */
const HAS_UNIT = /^[ -~\u03b1-\u03c9\u0430-\u045f\u0561-\u0586\u05d0-\u05ea\u0621-\u064a\u10d0-\u10f0]$/;

const IS_MARK = /\p{M}/u;

const unit = (number: number) => String.fromCharCode(number);
const firstOf = (run: string) => /^[^\ue001-\ue003]*/.exec(run)?.[0] ?? "";

/** Returns the units of each letter, by the first form of the letter. */
function letterUnits(front: string | undefined): Map<string, string> {
  const letters = ROOT.letters.split(NEXT).map(firstOf);
  const script = front === undefined ? undefined : new RegExp(`^\\p{sc=${front}}`, "u");
  const usual = letters.filter((letter) => HAS_UNIT.test(letter));
  const inFront = usual.filter((letter) => script?.test(letter) === true);
  const others = usual.filter((letter) => script?.test(letter) !== true);
  const latin = others.indexOf("a");
  const units = new Map<string, string>();
  let next = FIRST_UNIT;
  const before = unit(next++);
  for (const letter of [...others.slice(0, latin), ...inFront, ...others.slice(latin)]) {
    if (next === BACKSLASH) next++;
    units.set(letter, unit(next++));
  }
  let last = before;
  let further = 0;
  for (const letter of letters) {
    const own = units.get(letter);
    if (own === undefined) units.set(letter, last + unit(FURTHER_UNIT + further++));
    else [last, further] = [own, 0];
  }
  return units;
}

function* casesIn(run: string): Generator<[text: string, rank: number]> {
  for (const [at, same] of run.split(NEXT_CASE).entries())
    for (const text of same.split(SAME_CASE)) yield [text, at * CASE_STEP];
}

function* marksIn(marks: string): Generator<[string, Weight[]]> {
  for (const [at, run] of marks.split(NEXT).entries())
    for (const [mark, rank] of casesIn(run))
      yield [mark, [{ letter: "", accent: FIRST_MARK + 2 * at, case: rank }]];
}

function* lettersIn(letters: string, units: ReadonlyMap<string, string>): Generator<[string, Weight[]]> {
  for (const run of letters.split(NEXT)) {
    const letter = units.get(firstOf(run)) ?? "";
    for (const [accent, same] of run.split(NEXT_ACCENT).entries())
      for (const [text, rank] of casesIn(same)) yield [text, [{ letter, accent, case: rank }]];
  }
}

const WEIGHT = /([^\ue100-\uefff]*)([\ue400-\uefff]?)([\ue100-\ue2ff])([\ue300-\ue3ff])/gu;

/** Parses characters that have several weights, or that a language moves. */
function* elementsIn(elements: string, units: ReadonlyMap<string, string>): Generator<[string, Weight[]]> {
  if (elements === "") return;
  for (const element of elements.split(NEXT)) {
    const [text = "", weights = ""] = element.split(NEXT_CASE);
    const found = [...weights.matchAll(WEIGHT)].map(
      ([, letter = "", moved = "", accent = "", rank = ""]) => ({
        letter:
          (units.get(letter) ?? "") +
          (moved === "" ? "" : unit(MOVED_UNIT + moved.charCodeAt(0) - MOVED_BASE)),
        accent: accent.charCodeAt(0) - ACCENT_BASE,
        case: rank.charCodeAt(0) - CASE_BASE,
      }),
    );
    yield [text, found];
  }
}

function tableOf({ front, backwards, marks = ROOT.marks, elements = "" }: Tailoring): Table {
  const units = letterUnits(front);
  const weights = new Map<string, readonly Weight[]>([
    ...[...ROOT.ignored].map((text): [string, Weight[]] => [text, []]),
    ...lettersIn(ROOT.letters, units),
    ...marksIn(marks),
    ...elementsIn(ROOT.elements, units),
    ...elementsIn(elements, units),
  ]);
  const groups = new Map<string, Groups>();
  for (const text of weights.keys()) {
    if (text.length === 1) continue;
    const [first = "", second, ...more] = text;
    if (second === undefined) continue;
    const known = groups.get(first) ?? { longest: 0, seconds: new Set() };
    groups.set(first, known);
    known.longest = Math.max(known.longest, more.length + 2);
    known.seconds.add(second);
  }
  return { weights, groups, backwards: backwards === true, symbol: units.get("$") ?? "" };
}

/** Returns the weights of a character that no table has. */
function otherWeights(character: string, symbol: string): Weight[] {
  if (IS_MARK.test(character)) return [{ letter: "", accent: OTHER_MARK, case: 0 }];
  const code = character.codePointAt(0) ?? 0;
  const own = unit(OTHER_UNIT + (code >> LOW_BITS)) + unit(OTHER_UNIT + (code & ((1 << LOW_BITS) - 1)));
  return [{ letter: otherStart(character, code, symbol) + own, accent: 0, case: 0 }];
}

function otherStart(character: string, code: number, symbol: string): string {
  if (/\p{Unified_Ideograph}/u.test(character))
    return code < 0xa000 && code > 0x4dff ? OTHERS.han : OTHERS.otherHan;
  return /[\p{P}\p{S}]/u.test(character) ? symbol : OTHERS.letter;
}

/** Whether a character may begin a group together with the next one. */
function mayBeginGroup({ groups }: Table, character: string, next: string | undefined): boolean {
  const known = groups.get(character);
  return known !== undefined && next !== undefined && (known.seconds.has(next) || IS_MARK.test(next));
}

/** Returns whether the canonical order of two marks is fixed, so that one of them may stand between a letter and the other. */
function isBetween(mark: string, next: string): boolean {
  return `a${next}${mark}`.normalize("NFD") === `a${mark}${next}`;
}

/**
 * Finds the longest group of characters at a position that is sorted as one letter. A mark may belong to the group
 * although other marks stand before it. These are removed from the list of characters.
 */
function groupAt(
  { weights, groups }: Table,
  characters: string[],
  at: number,
): { text: string; length: number } {
  const first = characters[at] ?? "";
  let text = first;
  let length = 1;
  for (let size = groups.get(first)?.longest ?? 1; size > 1; size--) {
    const some = characters.slice(at, at + size);
    if (some.length < size || !weights.has(some.join(""))) continue;
    text = some.join("");
    length = size;
    break;
  }
  for (let next = at + length; next < at + length + MOST_MARKS; next++) {
    const mark = characters[next] ?? "";
    if (!IS_MARK.test(mark)) break;
    const isReached = characters.slice(at + length, next).every((between) => isBetween(between, mark));
    if (!isReached || !weights.has(text + mark)) continue;
    text += mark;
    characters.splice(next--, 1);
  }
  return { text, length };
}

const PLAIN = /^[ -~]*$/;
/** Removes the lowest weights from the end of a level: a text without them comes before a text with higher ones. */
const trimmed = (level: string) => level.replace(/#+$/, "");

function keyOf(table: Table, whole: string): string {
  const text = whole.length > LONGEST_TEXT ? whole.slice(0, LONGEST_TEXT) : whole;
  const characters = PLAIN.test(text) ? text.split("") : [...text.normalize("NFD")];
  let letters = "";
  let cases = "";
  const accents: string[] = [];
  for (let at = 0; at < characters.length; ) {
    const character = characters[at] ?? "";
    const { text: group, length } = mayBeginGroup(table, character, characters[at + 1])
      ? groupAt(table, characters, at)
      : { text: character, length: 1 };
    at += length;
    for (const weight of table.weights.get(group) ?? otherWeights(group, table.symbol)) {
      letters += weight.letter;
      accents.push(unit(FIRST_UNIT + weight.accent));
      cases += unit(FIRST_UNIT + weight.case);
    }
  }
  if (table.backwards) accents.reverse();
  const levels = [trimmed(accents.join("")), trimmed(cases)];
  return (
    letters +
    levels
      .map((level) => LEVEL_END + level)
      .join("")
      .replace(/!+$/, "")
  );
}

/** For each language, this many keys of texts of at most this length stay in memory. */
const MOST_RECENT = 2_000;
const SHORT = 100;

const tables = new Map<string, (text: string) => string>();

/** Languages whose texts have sort keys. */
export const SORTED_LANGUAGES: readonly string[] = Object.keys(TAILORINGS);

/** Returns the language in whose table a language tag is sorted; undefined if there is none. */
export function sortedLanguage(tag: string): string | undefined {
  if (Object.hasOwn(TAILORINGS, tag)) return tag;
  const language = tag.replace(/-([A-Z]{2}|[0-9]{3})$/, "");
  return Object.hasOwn(TAILORINGS, language) ? language : undefined;
}

/** Returns the function that makes the sort keys of a language's texts; undefined if the language has no table. */
export function sortKeys(tag: string): ((text: string) => string) | undefined {
  const language = sortedLanguage(tag);
  if (language === undefined) return undefined;
  const known = tables.get(language);
  if (known !== undefined) return known;
  let table: Table | undefined;
  // Filters compare each entry with the same text, and pages of a list sort the same entries again.
  const recent = new BoundedMap<string, string>(MOST_RECENT);
  const key = (text: string) => {
    const before = recent.get(text);
    if (before !== undefined) return before;
    table ??= tableOf(TAILORINGS[language] ?? {});
    const made = keyOf(table, text);
    if (text.length <= SHORT) recent.set(text, made);
    return made;
  };
  tables.set(language, key);
  return key;
}

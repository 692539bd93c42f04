/** Makes parts of addresses of texts: `Größe & Gewicht` becomes `groesse-gewicht`. */

/** Letters of some languages that other languages with the same letters write in another way. */
const BY_LANGUAGE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  de: { ä: "ae", ö: "oe", ü: "ue" },
  da: { å: "aa", ø: "oe" },
  nb: { å: "aa", ø: "oe" },
  nn: { å: "aa", ø: "oe" },
  uk: { г: "h", и: "y", й: "i", х: "kh", є: "ie", ї: "i", ю: "iu", я: "ia" },
  bg: { щ: "sht", ъ: "a", х: "h" },
  mk: { х: "h", ц: "c", ж: "zh", ѓ: "gj", ќ: "kj", ј: "j" },
  sr: { ж: "z", х: "h", ц: "c", ч: "c", ш: "s" },
};

/** Letters that decompose into a letter with another sound. */
const WHOLE: Readonly<Record<string, string>> = { й: "y", ё: "yo", ї: "yi", ў: "u", ѓ: "gj", ќ: "kj" };

const pairs = (text: string) => Object.fromEntries(text.split(" ").map((pair) => pair.split(":")));

/** Latin letters without a decomposition, and the letters of Greek, Cyrillic, Georgian and Armenian. */
const LETTERS: Readonly<Record<string, string>> = {
  ...pairs("ß:ss æ:ae œ:oe ø:o đ:d ð:d ł:l ı:i þ:th ħ:h ŋ:n ə:a ĸ:k ŧ:t ƒ:f"),
  ...pairs(
    "α:a β:v γ:g δ:d ε:e ζ:z η:i θ:th ι:i κ:k λ:l μ:m ν:n ξ:x ο:o π:p ρ:r σ:s ς:s τ:t υ:y φ:f χ:ch ψ:ps ω:o",
  ),
  ...pairs(
    "а:a б:b в:v г:g ґ:g д:d ђ:dj е:e є:ye ж:zh з:z и:i і:i ј:j к:k л:l љ:lj м:m н:n њ:nj о:o п:p р:r с:s т:t",
  ),
  ...pairs("ћ:c у:u ф:f х:kh ц:ts ч:ch џ:dz ш:sh щ:shch ъ: ы:y ь: э:e ю:yu я:ya ѕ:dz"),
  ...pairs(
    "ა:a ბ:b გ:g დ:d ე:e ვ:v ზ:z თ:t ი:i კ:k ლ:l მ:m ნ:n ო:o პ:p ჟ:zh რ:r ს:s ტ:t უ:u ფ:p ქ:k ღ:gh ყ:q შ:sh",
  ),
  ...pairs("ჩ:ch ც:ts ძ:dz წ:ts ჭ:ch ხ:kh ჯ:j ჰ:h"),
  ...pairs(
    "ա:a բ:b գ:g դ:d ե:e զ:z է:e ը:y թ:t ժ:zh ի:i լ:l խ:kh ծ:ts կ:k հ:h ձ:dz ղ:gh ճ:ch մ:m յ:y ն:n շ:sh ո:o",
  ),
  ...pairs("չ:ch պ:p ջ:j ռ:r ս:s վ:v տ:t ր:r ց:ts ւ:v փ:p ք:k օ:o ֆ:f և:ev"),
};

/** Pairs of Greek letters with one sound. */
const GREEK: readonly [RegExp, string][] = [
  [/ου/g, "ou"],
  [/([αε])υ/g, "$1v"],
  [/γγ/g, "ng"],
];

const ASCII = /^[ -~\s]*$/;
const MARKS = /[\u0300-\u036f]+/g;
const APOSTROPHES = /['’ʼ`´]/g;
const BETWEEN = /[^\p{L}\p{N}\p{M}]+/gu;

function latin(text: string, language: string): string {
  const own = BY_LANGUAGE[language.split("-")[0] ?? ""] ?? {};
  const whole = text.normalize("NFC").replace(/[^\0-~]/g, (letter) => own[letter] ?? WHOLE[letter] ?? letter);
  let bare = whole.normalize("NFKD").toLowerCase().replace(MARKS, "");
  for (const [letters, sound] of GREEK) bare = bare.replace(letters, sound);
  return bare.replace(/[^\0-~]/g, (letter) => LETTERS[letter] ?? letter).normalize("NFC");
}

/**
 * Returns a text as a part of an address: lower-case words with hyphens between them. Letters of Latin, Greek,
 * Cyrillic, Georgian and Armenian become ASCII; letters of other scripts stay. Empty if the text has no letters and no
 * digits.
 * @param language of the text: `ä` is `ae` in German, and `a` in Swedish
 * @param most maximum characters; words that do not fit are left out
 */
export function slugOf(text: string, language: string, most: number): string {
  // Longer texts would only be cut.
  const lower = text.slice(0, 20 * most).toLowerCase();
  const slug = (ASCII.test(lower) ? lower : latin(lower, language))
    .replace(APOSTROPHES, "")
    .replace(BETWEEN, "-")
    .replace(/^-|-$/g, "");
  return shortened(slug, most);
}

/** Returns the first words of a slug that fit. */
function shortened(slug: string, most: number): string {
  const letters = [...slug];
  if (letters.length <= most) return slug;
  const cut = letters.slice(0, most).join("");
  const end = letters[most] === "-" ? cut.length : cut.lastIndexOf("-");
  return end > 0 ? cut.slice(0, end) : cut;
}

/** Returns whether a text has the form of a slug. */
export function isSlug(text: string): boolean {
  return text === text.toLowerCase() && /^[\p{L}\p{N}\p{M}]+(?:-[\p{L}\p{N}\p{M}]+)*$/u.test(text);
}

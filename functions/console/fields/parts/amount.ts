/** Numbers as people write them in the browser's language: `1,234.50` or `1.234,50`. */
import { LOCALE } from "../../texts/t.ts";

const PLAIN = /^-?(?:\d+|\d*\.\d+)$/;
/** Separators that people type instead of others, as a browser may write another one than they do. */
const ALIKE = [/\s/, /['’]/];

/** The forms of numbers in a language. */
interface Amounts {
  /**
   * Returns a number with a point and without separators; undefined if the text is no number. A separator of thousands
   * counts only between groups of three digits. So a point that no language would write there is a decimal point.
   */
  read(written: string): string | undefined;
  /** Returns a number with a point as the language writes it, without separators. */
  written(text: string): string;
}

export function amountsIn(locale: string): Amounts {
  const parts = new Intl.NumberFormat(locale, { useGrouping: "always" }).formatToParts(-12_345.6);
  const signOf = (type: Intl.NumberFormatPartTypes, otherwise: string) =>
    parts.find((part) => part.type === type)?.value ?? otherwise;
  const [point, group, minus] = [signOf("decimal", "."), signOf("group", ","), signOf("minusSign", "-")];
  const digits = new Intl.NumberFormat(locale, { useGrouping: false });
  const ten = Array.from({ length: 10 }, (_, digit) => digits.format(digit));
  const latin = (text: string) =>
    [...text].map((one) => (ten.includes(one) ? String(ten.indexOf(one)) : one)).join("");
  return {
    read(written) {
      const text = latin(written.trim())
        .replace(minus, "-")
        .replace(/^[\u2212\u2013]/, "-")
        .replace(/^\+/, "");
      const [whole = "", ...fractions] = text.split(point);
      const groups = whole.split(ALIKE.find((some) => some.test(group)) ?? group);
      const isGrouped =
        groups.length > 1 && groups.every((one, at) => (at === 0 ? /^-?\d{1,3}$/ : /^\d{3}$/).test(one));
      const joined = [isGrouped ? groups.join("") : whole, ...fractions].join(".");
      return PLAIN.test(joined) ? joined.replace(/^(-?)\./, "$10.") : undefined;
    },
    written: (text) => (PLAIN.test(text) ? text.replace(".", point) : text),
  };
}

export const { read: readAmount, written: writtenAmount } = amountsIn(LOCALE);

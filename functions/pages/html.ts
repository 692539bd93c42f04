import { piecesOf } from "../texts/translate.ts";

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export interface Html {
  readonly markup: string;
}

/** A template tag that escapes inserted values, except values of type {@link Html}. */
export function html(parts: TemplateStringsArray, ...values: (string | Html)[]): Html {
  let markup = parts[0] ?? "";
  values.forEach((value, i) => {
    markup +=
      typeof value === "string" ? value.replace(/[&<>"']/g, (char) => ESCAPES[char] ?? "") : value.markup;
    markup += parts[i + 1] ?? "";
  });
  return { markup };
}

export const nothing: Html = { markup: "" };

/** Returns a text whose placeholders are replaced by values. Escapes the text, and values that are not of type `Html`. */
export const filledHtml = (form: string, values: Readonly<Record<string, string | Html>>): Html =>
  piecesOf(form).reduce(
    (all, piece, at) => html`${all}${at % 2 === 0 ? piece : (values[piece] ?? `{${piece}}`)}`,
    nothing,
  );

/** HTML with every value escaped: markup comes only from this project's own templates. */
const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Markup that is safe as it is. */
export interface Html {
  readonly markup: string;
}

/** A template whose values are escaped unless they are {@link Html} themselves. */
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

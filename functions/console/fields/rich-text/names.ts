/** Names of the formats that are common. All other formats are shown as the definition calls them. */
import { type TextKey, t } from "../../texts/t.ts";

const STYLES: Readonly<Record<string, TextKey>> = {
  normal: "rich.normal",
  blockquote: "rich.quote",
  code: "rich.codeBlock",
};

const MARKS: Readonly<Record<string, TextKey>> = {
  strong: "rich.strong",
  em: "rich.em",
  underline: "rich.underline",
  "strike-through": "rich.strike",
  code: "rich.code",
  sub: "rich.sub",
  sup: "rich.sup",
  highlight: "rich.highlight",
};

const LISTS: Readonly<Record<string, TextKey>> = { bullet: "rich.bullet", number: "rich.number" };

const nameIn = (names: Readonly<Record<string, TextKey>>, name: string): string => {
  const key = Object.hasOwn(names, name) ? names[name] : undefined;
  return key === undefined ? name : t(key);
};

export const nameOfMark = (mark: string): string => nameIn(MARKS, mark);
export const nameOfList = (list: string): string => nameIn(LISTS, list);
export function nameOfStyle(style: string): string {
  const level = /^h([1-6])$/.exec(style)?.[1];
  return level === undefined ? nameIn(STYLES, style) : t("rich.heading", { level: Number(level) });
}

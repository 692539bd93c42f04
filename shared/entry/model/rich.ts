/** Rich text in the values of entries, and the conversions of it. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { addressFlaw, allowedIn, MAX_LEVEL } from "../../definition/rich-text.ts";
import { MAX_ITEMS, MAX_NESTED } from "../../definition/validate.ts";
import { leavesWith, plainLeaves, readAll, replaceLeaves, withNested } from "../../definition/walk.ts";
import type { Block, Target } from "../../rich/index.ts";

/** Loads the conversions. Few requests need them, and they contain large parsers. */
export const loadConversions = () => import("../../rich/index.ts");

/** Returns what conversions to a field must keep to. */
export function targetOf({ definition }: CompiledField): Target {
  return {
    ...allowedIn(definition),
    maxLevel: MAX_LEVEL,
    maxBlocks: MAX_ITEMS,
    maxSpans: MAX_NESTED,
    addressFlaw,
  };
}

const known = new WeakMap<CompiledSchema, readonly CompiledField[]>();

/** Returns the fields of rich text in a schema, at all depths. */
export function richTextsOf(schema: CompiledSchema): readonly CompiledField[] {
  const found =
    known.get(schema) ??
    [...schema.fields.values()].flatMap(withNested).filter(({ type }) => type.name === "richText");
  known.set(schema, found);
  return found;
}

/** How responses show rich text instead of Portable Text: the parameter `richText`. */
export const RICH_TEXT_FORMS = ["html", "markdown", "text"] as const;

export interface RichTextForm {
  name: string;
  render(blocks: readonly Block[]): string;
}

/** Returns how to show rich text. Undefined for Portable Text itself. */
export async function richTextForm(name: string | undefined): Promise<RichTextForm | undefined> {
  if (name === undefined) return undefined;
  const { toHtml, toMarkdown, toText } = await loadConversions();
  const rules = { addressFlaw };
  const forms: Record<string, RichTextForm["render"]> = {
    html: (blocks) => toHtml(blocks, rules),
    markdown: toMarkdown,
    text: toText,
  };
  const render = forms[name];
  return render === undefined ? undefined : { name, render };
}

/** Shows the rich text in the values of a response in a form. @param all whether the values are in all languages */
export function withForm(
  schema: CompiledSchema,
  values: Record<string, unknown>,
  { render }: RichTextForm,
  all: boolean,
): Record<string, unknown> {
  const texts = richTextsOf(schema).flatMap((field) =>
    all ? leavesWith(readAll, field, values) : plainLeaves(field, values),
  );
  return replaceLeaves(
    values,
    texts.flatMap(({ trail, value }) =>
      Array.isArray(value) ? [{ trail, value: render(value as unknown as Block[]) }] : [],
    ),
  );
}

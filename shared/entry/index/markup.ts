/** Rich text that a client writes as Markdown or HTML, such as `{ "markdown": "# Title" }`. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { isMarkup, type Markup } from "../../definition/rich-text.ts";
import { counterpart, leavesWith, readAll, replaceLeaves } from "../../definition/walk.ts";
import type { Fault } from "../../kernel/errors.ts";
import { pointer } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { loadConversions, richTextsOf, type StoredValue, storedInput, targetOf } from "../model/index.ts";

/** Maximum characters of a text. The parsers need about 5 ms for each 1,000 characters of the worst texts. */
const MAX_MARKUP = 200_000;

interface Written {
  field: CompiledField;
  trail: readonly string[];
  value: Markup;
}

export interface WithMarkup {
  given: unknown;
  faults: Fault[];
  warnings: Fault[];
}

/** Replaces texts in markup languages with Portable Text that their fields allow. */
export async function withMarkup(
  schema: CompiledSchema,
  given: unknown,
  stored: Readonly<Record<string, StoredValue>>,
): Promise<WithMarkup> {
  const texts = isObject(given) ? writtenIn(schema, given) : [];
  if (texts.length === 0 || !isObject(given)) return { given, faults: [], warnings: [] };
  const { fromHtml, fromMarkdown, Unconvertible, withStored } = await loadConversions();
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  // A component may have sensitive values, which a write must name by their mask.
  const shown = storedInput(schema, stored);
  let characters = 0;
  const replacements = texts.flatMap(({ field, trail, value }) => {
    const path = `/values${pointer(trail)}`;
    const text = "markdown" in value ? value.markdown : value.html;
    characters += text.length;
    if (characters > MAX_MARKUP) {
      const message = `must not be one of texts with more than ${MAX_MARKUP} characters together. Send Portable Text.`;
      faults.push({ path, code: "too_long", message });
      return [];
    }
    try {
      const convert = "markdown" in value ? fromMarkdown : fromHtml;
      const { blocks, warnings: found } = convert(text, targetOf(field));
      const add = (message: string) => warnings.push({ path, code: "converted", message });
      for (const message of found) add(message);
      return [{ trail, value: withStored(blocks, counterpart(given, trail, shown), add) }];
    } catch (error) {
      if (!(error instanceof Unconvertible)) throw error;
      faults.push({ path, code: error.code, message: error.message });
      return [];
    }
  });
  return { given: replaceLeaves(given, replacements), faults, warnings };
}

function writtenIn(schema: CompiledSchema, given: Readonly<Record<string, unknown>>): Written[] {
  return richTextsOf(schema).flatMap((field) =>
    leavesWith(readAll, field, given).flatMap(({ value, trail }) =>
      isMarkup(field, value) ? [{ field, trail, value }] : [],
    ),
  );
}

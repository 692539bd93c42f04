/** Converts HTML to Portable Text. */
import { Parser } from "htmlparser2";
import { HtmlReader } from "./html-reader.ts";
import type { Converted, Target } from "./model.ts";

export function fromHtml(text: string, target: Target): Converted {
  const reader = new HtmlReader(target);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => reader.begin(name, attributes),
      ontext: (data) => reader.text(data),
      onclosetag: (name) => reader.end(name),
    },
    { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true },
  );
  parser.write(text);
  parser.end();
  return reader.finish();
}

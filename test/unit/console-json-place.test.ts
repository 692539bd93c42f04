import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lineAt, placesIn, spanOf, syntaxFault } from "../../functions/console/model/json-place.ts";

/** Returns the value that a JSON Pointer names. */
function valueAt(document: unknown, pointer: string): unknown {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], document);
}

describe("placesIn", () => {
  test("finds every value of any JSON text, however it is indented", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ noUnicodeString: false }),
        fc.constantFrom(undefined, 1, "\t"),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          const document: unknown = JSON.parse(text);
          for (const [pointer, { from, to }] of placesIn(text))
            expect(JSON.parse(text.slice(from, to))).toEqual(valueAt(document, pointer));
        },
      ),
    );
  });

  test("leads to the closest value around a missing one", () => {
    const text = '{\n "modules": [{ "id": "a" }]\n}';
    const place = spanOf(placesIn(text), "/modules/0/type");
    expect(text.slice(place?.from, place?.to)).toBe('{ "id": "a" }');
    expect(lineAt(text, place?.from ?? 0)).toBe(2);
  });
});

test("syntaxFault finds the first character that is wrong", () => {
  expect(syntaxFault('{ "a": 1 }')).toBeUndefined();
  expect(syntaxFault('{ "a": 1,\n }')?.from).toBe(11);
});

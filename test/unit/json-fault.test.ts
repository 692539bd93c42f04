import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { malformedAt, placeIn } from "../../shared/kernel/json-fault.ts";

/** What the runtime's own parser says, where it names a place. */
function parserSays(text: string): { fine: boolean; at: number | undefined } {
  try {
    JSON.parse(text);
    return { fine: true, at: undefined };
  } catch (error) {
    const at = /in JSON at position (\d+)/.exec(String(error))?.[1];
    return { fine: false, at: at === undefined ? undefined : Number(at) };
  }
}

describe("where a text stops being JSON", () => {
  it.each([
    ['{"id":"shop",}', 13],
    ["{'id':1}", 1],
    ['{"a":1 "b":2}', 7],
    ['{"a" 1}', 5],
    ["[1,]", 3],
    ["[1 2]", 3],
    ['{"a":tru}', 5],
    ['{"a":01}', 6],
    ['{"a":"x', 7],
    ['"a\nb"', 2],
    ['"\\x"', 1],
    ["", 0],
    ["{", 1],
    ["{]", 1],
    ["{} {}", 3],
    ["[1}", 2],
    [",", 0],
    ["NaN", 0],
  ])("%s: %i", (text, at) => {
    expect(malformedAt(text)).toBe(at);
  });

  it("agrees with the parser about any text that was JSON and had one character changed", () => {
    const change = fc.record({
      text: fc.json(),
      where: fc.nat(),
      char: fc.constantFrom("", '"', "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", "n", " ", "\n"),
      drop: fc.nat({ max: 1 }),
    });
    fc.assert(
      fc.property(change, ({ text, where, char, drop }) => {
        const at = where % (text.length + 1);
        const changed = text.slice(0, at) + char + text.slice(at + drop);
        const said = parserSays(changed);
        const found = malformedAt(changed);
        expect(found === undefined).toBe(said.fine);
        // Within a number or a word the parser stops at the character, we at what it does not continue.
        if (said.at !== undefined && found !== undefined) expect(said.at).toBeGreaterThanOrEqual(found);
      }),
      { numRuns: 500 },
    );
  });

  it("takes one pass over what is long or deep", () => {
    expect(malformedAt(`${"[".repeat(200_000)}`)).toBe(200_000);
    expect(malformedAt(`["${"a".repeat(500_000)}`)).toBe(500_002);
  });

  it("is told by line and column, or by the column alone", () => {
    expect(placeIn('{\n  "a": 1,\n}', 12)).toBe("line 3, column 1");
    expect(placeIn("[1,]", 3)).toBe("column 4");
  });
});

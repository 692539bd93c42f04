import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { malformedAt, placeIn } from "../../shared/kernel/json-fault.ts";
import { testSeed } from "../support/random.ts";

/** Returns whether the runtime's own parser accepts a text, and the position it reports. */
function parserSays(text: string): { fine: boolean; at: number | undefined } {
  try {
    JSON.parse(text);
    return { fine: true, at: undefined };
  } catch (error) {
    const at = /in JSON at position (\d+)/.exec(String(error))?.[1];
    return { fine: false, at: at === undefined ? undefined : Number(at) };
  }
}

describe("position of a JSON syntax error", () => {
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
  ])("%j: position %i", (text, at) => {
    expect(malformedAt(text)).toBe(at);
  });

  it("agrees with the parser about JSON with one changed character", () => {
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
        // Within a number or a word the parser reports the offending character, and this function the start of the token.
        if (said.at !== undefined && found !== undefined) expect(said.at).toBeGreaterThanOrEqual(found);
      }),
      { seed: testSeed(), numRuns: 500 },
    );
  });

  it("handles long and deep texts in a single pass", () => {
    expect(malformedAt(`${"[".repeat(200_000)}`)).toBe(200_000);
    expect(malformedAt(`["${"a".repeat(500_000)}`)).toBe(500_002);
  });

  it("is reported as line and column, or as column in a single line", () => {
    expect(placeIn('{\n  "a": 1,\n}', 12)).toBe("line 3, column 1");
    expect(placeIn("[1,]", 3)).toBe("column 4");
  });
});

/** The documents of the console's editor: they keep Portable Text exactly, whatever the user edits around it. */
import fc from "fast-check";
import { history, undo } from "prosemirror-history";
import { EditorState, TextSelection } from "prosemirror-state";
import { describe, expect, test } from "vitest";
import {
  insertObject,
  keysOf,
  setLink,
  setStyle,
  toggleList,
} from "../../functions/console/fields/rich-text/commands.ts";
import { docOf, type Item, portableOf } from "../../functions/console/fields/rich-text/convert.ts";
import { fitTo } from "../../functions/console/fields/rich-text/fit.ts";
import { adoption, uniqueKeys } from "../../functions/console/fields/rich-text/keys.ts";
import { type Formats, formatsOf, schemaFor } from "../../functions/console/fields/rich-text/schema.ts";
import { testSeed } from "../support/random.ts";

const FORMATS: Formats = {
  styles: ["normal", "h2", "blockquote", "code"],
  marks: ["strong", "em", "code"],
  lists: ["bullet", "number"],
  links: ["shop/pages/page"],
  components: ["quote"],
};

interface Span {
  _type: string;
  _key: string;
  text: string;
  marks: string[];
}

let count = 0;
const key = () => `k${++count}`;

const text = fc.string({
  unit: fc.constantFrom("a", "b", " ", "é", "漢", "\n", "😀"),
  minLength: 0,
  maxLength: 8,
});
const marks = fc.uniqueArray(fc.constantFrom("strong", "em", "code", "gone", "LINK1", "LINK2"), {
  maxLength: 3,
});

/** A block of text, with links, marks that the field no longer allows, and parts that are no spans. */
const textBlock = fc
  .record({
    style: fc.constantFrom("normal", "h2", "blockquote", "old"),
    list: fc.constantFrom(undefined, "bullet", "number", "check"),
    level: fc.integer({ min: 1, max: 10 }),
    parts: fc.array(
      fc.oneof({ weight: 8, arbitrary: fc.tuple(text, marks) }, fc.constant("object" as const)),
      {
        minLength: 1,
        maxLength: 5,
      },
    ),
  })
  .map(({ style, list, level, parts }): Item => {
    const [one, two] = [key(), key()];
    return {
      _type: "block",
      _key: key(),
      style,
      ...(list === undefined ? {} : { listItem: list, level }),
      children: parts.map((part) =>
        part === "object"
          ? { _type: "stamp", _key: key(), at: 1 }
          : {
              _type: "span",
              _key: key(),
              text: part[0],
              marks: part[1].map((mark) => (mark === "LINK1" ? one : mark === "LINK2" ? two : mark)),
            },
      ),
      markDefs: [
        { _type: "link", _key: one, href: "https://a.example" },
        { _type: "link", _key: two, reference: { schema: "shop/pages/page", id: "01a", path: "/api/x" } },
      ],
    };
  });

const other = fc
  .constantFrom("quote", "unknown")
  .map((_type): Item => ({ _type, _key: key(), text: { en: "x" } }));
const blocks = fc.array(fc.oneof({ weight: 4, arbitrary: textBlock }, other), { minLength: 1, maxLength: 6 });

function stateOf(value: unknown, formats = FORMATS): EditorState {
  const schema = schemaFor(formats);
  return EditorState.create({ doc: docOf(schema, value), plugins: [history(), uniqueKeys] });
}

const spansIn = (item: Item | undefined) => (item?.children ?? []) as Span[];

/** Returns the text of a value, with a line for each block. */
const textOf = (value: readonly Item[] | null) =>
  (value ?? [])
    .map((item) =>
      spansIn(item)
        .map((span) => span.text ?? "")
        .join(""),
    )
    .join("\n");

const keysIn = (value: readonly Item[] | null) => (value ?? []).map(({ _key }) => _key);

describe("documents", () => {
  test("convert back to the same Portable Text", () => {
    fc.assert(
      fc.property(blocks, (value) => {
        const state = stateOf(value);
        const items = portableOf(state.doc);
        expect(items).toEqual(value);
        for (const [at, item] of (items ?? []).entries()) expect(item).toBe(value[at]);
      }),
      { seed: testSeed(), numRuns: 300 },
    );
  });

  test("keep all other blocks, and the keys of a changed one", () => {
    fc.assert(
      fc.property(blocks, fc.nat(), fc.constantFrom("type", "bold", "style", "list"), (value, seed, kind) => {
        const state = stateOf(value);
        const places: number[] = [];
        state.doc.descendants((node, pos) => {
          if (node.isText) places.push(pos + 1);
        });
        const at = places[seed % Math.max(1, places.length)];
        if (at === undefined) return;
        const placed = state.apply(state.tr.setSelection(TextSelection.create(state.doc, at)));
        let next = placed;
        const dispatch = (tr: typeof state.tr) => {
          next = placed.apply(tr);
        };
        const index = state.doc.resolve(at).index(0);
        if (kind === "type") next = placed.apply(placed.tr.insertText("Z"));
        else if (kind === "style") setStyle("h2")(placed, dispatch);
        else if (kind === "list") toggleList("number")(placed, dispatch);
        else {
          const strong = state.schema.mark("mark strong");
          next = placed.apply(placed.tr.addMark(at - 1, at, strong));
        }
        const items = portableOf(next.doc) ?? [];
        expect(keysIn(items)).toEqual(keysIn(value));
        for (const [place, item] of items.entries()) if (place !== index) expect(item).toBe(value[place]);
        const [was, is] = [spansIn(value[index]), spansIn(items[index])];
        if (kind !== "bold") {
          const known = new Set(was.map(({ _key }) => _key));
          // What is typed at the end of a link is not linked.
          expect(is.filter(({ _key, text: own }) => !known.has(_key) && own !== "Z")).toEqual([]);
        }
        expect(new Set(is.map(({ _key }) => _key)).size).toBe(is.length);
        if (kind !== "type") expect(textOf(items)).toBe(textOf(value));
        const defs = (items[index]?.markDefs ?? []) as Item[];
        const links = new Map(((value[index]?.markDefs ?? []) as Item[]).map((def) => [def._key, def]));
        for (const def of defs) expect(def).toEqual(links.get(def._key));
      }),
      { seed: testSeed(), numRuns: 300 },
    );
  });

  test("are as before after all changes are undone", () => {
    fc.assert(
      fc.property(
        blocks,
        fc.array(fc.tuple(fc.nat(), fc.nat(), fc.boolean()), { maxLength: 6 }),
        (value, edits) => {
          let state = stateOf(value);
          for (const [from, length, isSplit] of edits) {
            const size = state.doc.content.size;
            const start = TextSelection.near(state.doc.resolve(from % size)).from;
            const end = Math.max(start, Math.min(size, start + (length % 9)));
            const selected = state.apply(
              state.tr.setSelection(TextSelection.between(state.doc.resolve(start), state.doc.resolve(end))),
            );
            state = selected;
            const enter = keysOf(FORMATS, () => undefined).Enter;
            if (isSplit)
              enter?.(selected, (tr) => {
                state = selected.apply(tr);
              });
            else state = selected.apply(selected.tr.insertText("new").setMeta("addToHistory", true));
            const keys = keysIn(portableOf(state.doc));
            expect(new Set(keys).size).toBe(keys.length);
          }
          while (
            undo(state, (tr) => {
              state = state.apply(tr);
            })
          );
          expect(portableOf(state.doc)).toEqual(value);
        },
      ),
      { seed: testSeed(), numRuns: 200 },
    );
  });

  test("are empty without a value, and again without a text", () => {
    const state = stateOf(null);
    expect(portableOf(state.doc)).toBe(null);
    const written = state.apply(state.tr.insertText("x", 1));
    expect(textOf(portableOf(written.doc))).toBe("x");
    expect(portableOf(written.apply(written.tr.delete(1, 2)).doc)).toBe(null);
  });

  test("take over what the platform has stored, without a change of the text", () => {
    const state = stateOf(null);
    const written = state.apply(state.tr.insertText("one", 1));
    const [block] = portableOf(written.doc) ?? [];
    const stored = structuredClone(block);
    expect(adoption(written, [stored])).toBe(undefined);
    expect(portableOf(written.doc)?.[0]).toBe(stored);
    const more = [{ ...stored, _key: "more" }, stored];
    const tr = adoption(written, more);
    expect(tr).toBeDefined();
    if (tr !== undefined) expect(portableOf(written.apply(tr).doc)).toEqual(more);
  });
});

describe("commands", () => {
  const paragraph = (own: string, more: object = {}) => ({
    ...{ _type: "block", _key: key(), style: "normal", markDefs: [] },
    children: [{ _type: "span", _key: key(), text: own, marks: [] }],
    ...more,
  });

  test("a half without text gets the new key", () => {
    const value = [paragraph("one")];
    const state = stateOf(value);
    const enter = keysOf(FORMATS, () => undefined).Enter;
    let next = state;
    enter?.(state, (tr) => {
      next = state.apply(tr);
    });
    const items = portableOf(next.doc) ?? [];
    expect(items.map((item) => textOf([item]))).toEqual(["", "one"]);
    expect(items[1]).toBe(value[0]);
    expect(items[0]?._key).not.toBe(items[1]?._key);
  });

  test("two links with one key in a joined block get different keys", () => {
    const link = (href: string) => ({
      children: [{ _type: "span", _key: key(), text: href, marks: ["link1"] }],
      markDefs: [{ _type: "link", _key: "link1", href }],
    });
    const state = stateOf([paragraph("", link("/a")), paragraph("", link("/b"))]);
    const joined = state.apply(state.tr.join(state.doc.firstChild?.nodeSize ?? 0));
    const [block] = portableOf(joined.doc) ?? [];
    expect(block?.markDefs).toEqual([
      { _type: "link", _key: "link1", href: "/a" },
      { _type: "link", _key: "link12", href: "/b" },
    ]);
    expect(spansIn(block).map((span) => span.marks)).toEqual([["link1"], ["link12"]]);
  });

  test("links are set, changed and removed as a whole", () => {
    let state = stateOf([paragraph("read this book")]);
    const run = (command: ReturnType<typeof setLink>) => {
      const before = state;
      command(before, (tr) => {
        state = before.apply(tr);
      });
    };
    state = state.apply(state.tr.setSelection(TextSelection.create(state.doc, 6, 10)));
    run(setLink({ _type: "link", _key: "l", href: "/a" }, ""));
    state = state.apply(state.tr.setSelection(TextSelection.create(state.doc, 8)));
    run(setLink({ _type: "link", _key: "l", href: "/b" }, ""));
    const linked = portableOf(state.doc)?.[0];
    expect(spansIn(linked).map((span) => [span.text, span.marks])).toEqual([
      ["read ", []],
      ["this", ["l"]],
      [" book", []],
    ]);
    expect(linked?.markDefs).toEqual([{ _type: "link", _key: "l", href: "/b" }]);
    run(setLink(undefined, ""));
    expect(portableOf(state.doc)?.[0]?.markDefs).toEqual([]);
  });

  test("a block splits the paragraph that it is inserted into, and replaces an empty one", () => {
    const quote = () => ({ _type: "quote", _key: key(), text: "x" });
    const inserted = (own: string, at: number) => {
      const state = stateOf([paragraph(own)]);
      const placed = state.apply(state.tr.setSelection(TextSelection.create(state.doc, at)));
      let next = placed;
      insertObject(quote())(placed, (tr) => {
        next = placed.apply(tr);
      });
      return (portableOf(next.doc) ?? []).map((item) =>
        item._type === "block" ? textOf([item]) : item._type,
      );
    };
    expect(inserted("onetwo", 4)).toEqual(["one", "quote", "two"]);
    expect(inserted("", 1)).toEqual(["quote"]);
  });
});

test("text from another field loses what this field does not allow", () => {
  const formats = formatsOf({
    name: "a",
    type: "richText",
    styles: ["normal"],
    marks: ["strong"],
    lists: [],
  });
  const value = [
    {
      ...{ _type: "block", _key: "a", style: "h2", listItem: "bullet", level: 2 },
      children: [{ _type: "span", _key: "s", text: "one", marks: ["em", "strong", "l", "r"] }],
      markDefs: [
        { _type: "link", _key: "l", href: "/a" },
        { _type: "link", _key: "r", reference: { schema: "shop/pages/page", id: "01a" } },
      ],
    },
    { _type: "quote", _key: "q" },
  ];
  const { items, missing } = fitTo(value, formats);
  expect(missing.toSorted()).toEqual(["bullet", "em", "h2", "link", "quote"]);
  expect(items).toEqual([
    {
      ...{ _type: "block", _key: expect.any(String), style: "normal" },
      children: [{ _type: "span", _key: "s", text: "one", marks: ["strong", "l"] }],
      markDefs: [{ _type: "link", _key: "l", href: "/a" }],
    },
  ]);
});

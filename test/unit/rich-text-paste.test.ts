/** HTML as it comes from the clipboard of word processors and browsers, read as rich text. */
import { describe, expect, test } from "vitest";
import { addressFlaw } from "../../shared/definition/rich-text.ts";
import { fromHtml, type Target, toMarkdown } from "../../shared/rich/index.ts";

const ALL: Target = {
  styles: ["normal", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "code"],
  marks: ["strong", "em", "underline", "strike-through", "code", "sub", "sup"],
  lists: ["bullet", "number"],
  links: [],
  components: [],
  maxLevel: 10,
  maxBlocks: 1_000,
  maxSpans: 20_000,
  addressFlaw,
};

const WORD = `<html xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:w="urn:schemas-microsoft-com:office:word">
<head><meta charset="utf-8"><!--[if gte mso 9]><xml><o:OfficeDocumentSettings><o:AllowPNG/></o:OfficeDocumentSettings></xml><![endif]-->
<style><!-- p.MsoNormal {margin:0cm; font-size:11.0pt; font-family:"Calibri",sans-serif;} --></style></head>
<body lang=EN-GB style='tab-interval:36.0pt'><!--StartFragment-->`;
const WORD_ITEM = (level: number, marker: string, text: string) =>
  `<p class=MsoListParagraphCxSpMiddle style='margin-left:${36 * level}pt;text-indent:-18.0pt;mso-list:l0 level${level} lfo1'>
<![if !supportLists]><span style='font-family:Symbol'><span style='mso-list:Ignore'>${marker}<span style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp; </span></span></span><![endif]>${text}<o:p></o:p></p>`;

/** What people copy, and the Markdown of what is read. */
const CASES: readonly (readonly [name: string, html: string, markdown: string])[] = [
  [
    "Word: a heading, bold and italic text, and an empty paragraph",
    `${WORD}<h1 style='mso-style:x'>Rain<o:p></o:p></h1><p class=MsoNormal><b style='mso-bidi-font-weight:normal'>Wet</b> and <i>cold</i>.<o:p></o:p></p><p class=MsoNormal><o:p>&nbsp;</o:p></p><!--EndFragment--></body></html>`,
    "# Rain\n\n**Wet** and _cold_.",
  ],
  [
    "Word: a list with bullets inside a numbered one",
    `${WORD}${WORD_ITEM(1, "1.", "First")}${WORD_ITEM(2, "·", "Inner")}${WORD_ITEM(1, "2.", "Second")}</body></html>`,
    "1. First\n   - Inner\n2. Second",
  ],
  [
    "Word: bullets of several forms",
    `${WORD}${WORD_ITEM(1, "·", "Dot")}${WORD_ITEM(2, "o", "Ring")}${WORD_ITEM(3, "§", "Square")}`,
    "- Dot\n  - Ring\n    - Square",
  ],
  [
    "Word: letters as numbers, and a link",
    `${WORD}${WORD_ITEM(1, "a)", `<a href="https://a.example/x">Read</a>`)}`,
    "1. [Read](<https://a.example/x>)",
  ],
  [
    "Google Docs: text in spans inside of an element b that is not bold",
    `<meta charset='utf-8'><b style="font-weight:normal;" id="docs-internal-guid-1"><p dir="ltr" style="line-height:1.38;"><span style="font-size:11pt;font-family:Arial;color:#000;font-weight:400;vertical-align:baseline;white-space:pre-wrap;">Plain and </span><span style="font-weight:700;">bold</span><span style="font-style:italic;text-decoration:underline;"> both</span></p></b>`,
    "Plain and **bold**_<u> both</u>_",
  ],
  [
    "Google Docs: a heading and a nested list",
    `<b style="font-weight:normal;" id="docs-internal-guid-2"><h2 dir="ltr"><span style="font-weight:400">Title</span></h2><ul style="margin:0"><li dir="ltr" style="list-style-type:disc" aria-level="1"><p dir="ltr" role="presentation"><span>One</span></p></li><ul><li dir="ltr" aria-level="2"><p dir="ltr" role="presentation"><span>Two</span></p></li></ul></ul></b><br class="Apple-interchange-newline">`,
    "## Title\n\n- One\n  - Two",
  ],
  [
    "Google Docs: raised and struck text",
    `<b style="font-weight:normal" id="docs-internal-guid-3"><p><span>E=mc</span><span style="vertical-align:super;font-size:0.6em">2</span><span style="text-decoration:line-through">old</span></p></b>`,
    "E=mc<sup>2</sup>~~old~~",
  ],
  [
    "a web page: an article with a script, styles and a frame",
    `<style>p{color:red}</style><article><h3>News</h3><p onclick="steal()" style="color:red">It <em>rains</em>.<script>alert(1)</script></p><iframe src="https://ads.example"></iframe></article>`,
    "### News\n\nIt _rains_.",
  ],
  [
    "a web page: addresses that run code",
    `<p><a href="javascript:alert(1)">one</a> <a href=" java\nscript:alert(1)">two</a> <a href="data:text/html,<script>alert(1)</script>">three</a> <a href="/ok">four</a></p>`,
    "one two three [four](</ok>)",
  ],
  [
    "a web page: a table, an image and a line",
    `<table><tr><td>Oslo</td><td>3 °C</td></tr></table><hr><p>After <img src=x onerror=alert(1) alt="a cloud"></p>`,
    "Oslo\n\n3 °C\n\nAfter a cloud",
  ],
  [
    "a web page: a quote, a block of code and words with code",
    `<blockquote><p>To be</p></blockquote><pre><code class="hljs"><span style="color:#a00">let</span> a;\nb();</code></pre><p>Use <code>b</code></p>`,
    "> To be\n\n```\nlet a;\nb();\n```\n\nUse `b`",
  ],
  [
    "a mail: paragraphs made of div and br",
    `<div dir="ltr">Hello,<br>all<div><br></div><div style="font-weight:bold">Bye</div></div>`,
    "Hello,\\\nall\n\nBye",
  ],
  [
    "a text editor: spans with the styles of the theme",
    `<meta charset='utf-8'><div style="color: #d4d4d4;background-color: #1e1e1e;font-family: Consolas;white-space: pre;"><div><span style="color: #569cd6;">let</span><span> x;</span></div></div>`,
    "let x;",
  ],
  [
    "Chromium: a fragment of a page",
    `<!--StartFragment--><span>some </span><b>words</b><!--EndFragment-->`,
    "some **words**",
  ],
];

test.each(CASES)("reads what is copied from %s", (_, html, markdown) => {
  const { blocks } = fromHtml(html, ALL);
  expect(toMarkdown(blocks)).toBe(markdown);
});

describe("in fields that allow little", () => {
  const little: Target = { ...ALL, styles: ["normal"], marks: ["strong"], lists: [] };

  test.each(CASES)("keeps neither styles nor scripts of %s", (_, html) => {
    const { blocks } = fromHtml(html, little);
    expect(JSON.stringify(blocks)).not.toMatch(
      /style":"(?!normal")|script|onclick|onerror|color:|mso-|font-|MsoNormal|"em"/i,
    );
    for (const block of blocks)
      expect(Object.keys(block).toSorted()).toEqual(["_type", "children", "markDefs", "style"]);
  });

  test("tells what was left out", () => {
    expect(fromHtml("<h2>A</h2><ul><li><em>b</em></li></ul><script>1</script>", little).warnings).toEqual([
      "contains text of the style h2, which it does not allow. It has the style normal now",
      "contains a list of the kind bullet, which it does not allow. Its items are paragraphs now",
      "contains text with the mark em, which it does not allow. The text has no such mark now",
      "contains the element script, which was left out",
    ]);
  });
});

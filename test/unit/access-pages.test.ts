import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { html } from "../../functions/pages/html.ts";
import { signinPage } from "../../functions/pages/templates.ts";
import { wordsIn } from "../../functions/pages/texts/words.ts";
import { renderAssets } from "../../scripts/build-pages.ts";
import { sharedRealm } from "../../shared/access/realms.ts";

test("the generated page assets are up to date (npm run build:pages)", async () => {
  for (const [path, text] of Object.entries(await renderAssets())) {
    expect(readFileSync(path, "utf8")).toBe(text);
  }
});

test("escapes values, but not nested markup", () => {
  const inner = html`<b>${`<&"'>`}</b>`;
  expect(html`<i title="${`"x"`}">${inner}</i>`.markup).toBe(
    '<i title="&quot;x&quot;"><b>&lt;&amp;&quot;&#39;&gt;</b></i>',
  );
});

test("escapes a realm's title everywhere", () => {
  const page = signinPage(
    wordsIn("en"),
    { ...sharedRealm, title: `"><script>` },
    { kind: "known", name: "<img>", back: "/x" },
    { back: "/<img>", account: false },
  );
  expect(page).not.toContain('"><script>');
  expect(page).not.toContain("<img>");
});

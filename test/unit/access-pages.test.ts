import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { html } from "../../functions/pages/html.ts";
import { signinPage } from "../../functions/pages/templates.ts";
import { generatedPath, renderAssets } from "../../scripts/build-pages.ts";
import { sharedRealm } from "../../shared/access/realms.ts";

test("what browsers get is made of the sources as they are: npm run build:pages", async () => {
  expect(readFileSync(generatedPath, "utf8")).toBe(await renderAssets());
});

test("values are escaped, markup of our own is not", () => {
  const inner = html`<b>${`<&"'>`}</b>`;
  expect(html`<i title="${`"x"`}">${inner}</i>`.markup).toBe(
    '<i title="&quot;x&quot;"><b>&lt;&amp;&quot;&#39;&gt;</b></i>',
  );
});

test("a realm's title is escaped wherever it stands", () => {
  const page = signinPage({ ...sharedRealm, title: `"><script>` }, { kind: "login", name: "<img>" });
  expect(page).not.toContain('"><script>');
  expect(page).not.toContain("<img>");
});

/**
 * Renders rich text with the code of the guides, in React and Astro. Outside of `.ci/run`, because it installs both:
 * `npm test -- test/peers/renderers.test.ts`.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, ".data/peers/renderers");
const PACKAGES = [
  ...["react@19", "react-dom@19", "@portabletext/react@7", "astro@6", "astro-portabletext@0.13"],
];
/** The address in the guides, which stands for that of an entry. */
const EXAMPLE = "https://platform.example/api/library/catalog/book/01k…";

const document = {
  id: "library",
  components: [{ id: "quote", fields: [{ name: "text", type: "string" }] }],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string" }] },
        {
          id: "book",
          fields: [
            {
              ...{ name: "summary", type: "richText", components: ["quote"] },
              links: ["library/catalog/author"],
            },
          ],
        },
      ],
    },
  ],
};

let platform: TestPlatform;
/** Address of the entry that is rendered, and what pages show of it. */
let address = "";
let expected = "";

/** Returns the blocks of code in a guide. */
function codeOf(guide: string, language: string): string[] {
  const text = readFileSync(join(root, "docs/guides", guide), "utf8");
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, code = ""]) => code,
  );
}

function write(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

beforeAll(async () => {
  if (!existsSync(join(folder, "node_modules/astro-portabletext"))) {
    write("package.json", '{"private":true,"type":"module"}');
    await run("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: folder });
  }
  platform = await sharedPlatform();
  const token = await adminToken(platform);
  const send = async (path: string, body: unknown) =>
    (await call(platform, "POST", `${path}?publish=true`, { token, body })).body;
  await send("/api/admin/orbs", document);
  const author = await send("/api/library/catalog/author", { values: { name: "Ann" } });
  const paragraphs = `<h2>Rain &amp; <em>snow</em></h2><p><a href="https://a.example/">One</a> <a href="/api/library/catalog/author/${author.id}">Ann</a></p>`;
  const html = `${paragraphs}<ul><li><strong>Wet</strong></li></ul>`;
  const converted = await send("/api/library/catalog/book", { values: { summary: { html } } });
  const summary = [...converted.values.summary, { _type: "quote", text: "To be" }];
  const book = await send("/api/library/catalog/book", { values: { summary } });
  address = `${platform.origin}/api/library/catalog/book/${book.id}`;
  expected = `${html.replace("/api/library/catalog/author", "/author")}<blockquote>To be</blockquote>`;
}, 300_000);

test("in React", async () => {
  const [component = ""] = codeOf("render-rich-text-in-react.md", "jsx");
  write("react/summary.jsx", component);
  const page = write(
    "react/page.jsx",
    `import { renderToStaticMarkup } from "react-dom/server";
    import { Summary } from "./summary.jsx";
    export const render = (book) => renderToStaticMarkup(<Summary book={book} />);`,
  );
  const outfile = join(folder, "react/page.mjs");
  await build({
    ...{ entryPoints: [page], outfile, bundle: true, format: "esm", platform: "node", jsx: "automatic" },
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  const { render } = (await import(pathToFileURL(outfile).href)) as { render: (book: unknown) => string };
  expect(render(await (await fetch(address)).json())).toBe(expected);
}, 120_000);

test("in Astro", async () => {
  const [link = "", quote = "", page = ""] = codeOf("render-rich-text-in-astro.md", "astro");
  write("astro/src/components/Link.astro", link);
  write("astro/src/components/Quote.astro", quote);
  write("astro/src/pages/index.astro", page.replace(EXAMPLE, address));
  const program = join(folder, "node_modules/astro/bin/astro.mjs");
  const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: "1" };
  await run(process.execPath, [program, "build"], { cwd: join(folder, "astro"), env });
  const built = readFileSync(join(folder, "astro/dist/index.html"), "utf8");
  expect(built.replace("<!DOCTYPE html>", "").trim()).toBe(expected);
}, 120_000);

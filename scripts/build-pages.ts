/** `npm run build:pages` writes the names of the pages' files. A test fails if they are out of date. */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlePages } from "./bundle/pages.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Returns the texts of the generated modules by their paths. Equal sources give equal texts. */
export async function renderAssets(): Promise<Record<string, string>> {
  const files = await bundlePages();
  const pages = [...new Set(files.map(({ page }) => page))];
  const names = [
    "// Made by scripts/build-pages.ts from functions/pages/browser and functions/pages/*.css. Do not edit.",
    "/** Addresses of each page's files. */",
    "export const files = {",
    ...pages.map((page) => {
      const of = files.filter((file) => file.page === page);
      const at = of.map(({ kind, name }) => `${kind}: ${JSON.stringify(`/api/_auth/assets/${name}`)}`);
      return `  ${page}: { ${at.join(", ")} },`;
    }),
    "} as const;",
    "/** Media types of the files by name. The name holds the content's hash. */",
    "export const types: Readonly<Record<string, string>> = {",
    ...files.map(({ name, type }) => `  ${JSON.stringify(name)}: ${JSON.stringify(type)},`),
    "};",
    "",
  ];
  return { [join(root, "functions/pages/assets.generated.ts")]: names.join("\n") };
}

if (import.meta.main) {
  for (const [path, content] of Object.entries(await renderAssets())) writeFileSync(path, content);
}

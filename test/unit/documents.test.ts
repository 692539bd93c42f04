import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter(Boolean);
const documents = tracked.filter((path) => path.endsWith(".md"));

/** Reads a document without its code, which contains other kinds of links. */
const prose = (document: string) =>
  readFileSync(join(root, document), "utf8").replaceAll(/^ *```[\s\S]*?^ *```/gm, "");

it.each(documents)("%s names only files and folders that exist", (document) => {
  const text = prose(document);
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)\s#]+)(?:#[^)]*)?\)/g)].map(
    (match) => match[1] ?? "",
  );
  const named = [...text.matchAll(/`((?:functions|shared|scripts|test)\/[\w./-]+?)`/g)].map(
    (match) => match[1] ?? "",
  );
  const missing = [
    ...links.filter((path) => !existsSync(join(root, dirname(document), path))),
    ...named.filter((path) => !existsSync(join(root, path)) && !existsSync(join(root, `${path}.ts`))),
  ];
  expect(missing).toEqual([]);
});

/** The anchor of a heading, as GitHub makes it. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

it.each(documents.filter((path) => path === "README.md" || path.startsWith("docs/")))(
  "%s links to pages and headings that exist",
  (document) => {
    const text = prose(document);
    const broken = [...text.matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)].flatMap((match) => {
      const [, path = "", heading] = match;
      const target = path === "" ? join(root, document) : join(root, dirname(document), path);
      if (!existsSync(target)) return [match[0]];
      if (heading === undefined) return [];
      const headings = readFileSync(target, "utf8").match(/^#+ .*$/gm) ?? [];
      return headings.some((one) => anchor(one.replace(/^#+ /, "")) === heading) ? [] : [match[0]];
    });
    expect(broken).toEqual([]);
  },
);

it.each(documents)("%s prints no command that curl takes for a range", (document) => {
  const commands = readFileSync(join(root, document), "utf8").match(/\bcurl [^`\n]*/g) ?? [];
  const bracketed = commands.filter((command) => /\?[^"'\s]*[[{]/.test(command));
  expect(bracketed.filter((command) => !/ -g\b/.test(command))).toEqual([]);
});

it.each(documents)("%s runs TypeScript on the pinned Node, as an older one cannot", (document) => {
  const text = readFileSync(join(root, document), "utf8");
  expect(text.match(/(?<!node_modules\/\.bin\/)\bnode scripts\/\S+\.ts\b/g)).toBeNull();
});

it("the README names every script of package.json", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const text = documents.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
  const unnamed = Object.keys(scripts).filter((name) => !new RegExp(`npm (run )?${name}\\b`).test(text));
  expect(unnamed).toEqual([]);
});

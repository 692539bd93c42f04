/** The command `orb` against a server that answers with whatever harms: every command, with every kind of answer. */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tempDir } from "../support/broker.ts";
import { contentfulExport, exportedEntry, exportedField } from "../support/contentful-export.ts";
import { orbProgram } from "../support/orb-command.ts";
import { testSeed } from "../support/random.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const COMMAND = await orbProgram();
/** Commands that run at the same time. */
const AT_ONCE = 4;
const TOKEN = `orbtok_platform_${"a".repeat(32)}_${"s".repeat(43)}`;
/** Moves the cursor, writes to the clipboard, and begins a sequence in one byte. */
const ESCAPES = "\u001b[2J\u001b]52;c;aGk=\u0007\u009b31m\rshown\u202e";

/** Stands for the address of the server in the words of a command. */
const SERVER = "{server}";

/** What Contentful exports of a space with one entry. */
const EXPORT = contentfulExport({
  types: [{ id: "post", fields: [exportedField("title", "Symbol")] }],
  entries: [exportedEntry("first", "post", { title: { "en-US": "First" } })],
});

/** One invocation of each command that sends requests. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  login: ["login", "--no-browser"],
  logout: ["logout"],
  "token list": ["token", "list"],
  "token create": ["token", "create", "ci"],
  "token revoke": ["token", "revoke", "abc"],
  doctor: ["doctor"],
  init: ["init", "new"],
  pull: ["pull"],
  "pull shop": ["pull", "shop"],
  diff: ["diff", "shop"],
  push: ["push", "shop", "--publish"],
  types: ["types"],
  "entries export": ["entries", "export", "shop", "catalog/product"],
  "entries import": ["entries", "import", "shop", "catalog/product", "rows.ndjson"],
  "files upload": ["files", "upload", "shop", "rows.ndjson"],
  "files upload in parts": ["files", "upload", "shop", "large.bin"],
  "files download": ["files", "download", "shop", "abc", "--out", "out.bin"],
  "files link": ["files", "link", "shop", "abc"],
  "files list": ["files", "list", "shop"],
  "files describe": ["files", "describe", "shop", "abc", "--name", "a.txt"],
  "files replace": ["files", "replace", "shop", "abc", "--file", "rows.ndjson"],
  "files delete": ["files", "delete", "shop", "--unused", "--yes"],
  "files tag": ["files", "tag", "shop", "abc", "--add", "old"],
  "files tags": ["files", "tags", "shop"],
  "files rename-tag": ["files", "rename-tag", "shop", "old", "new"],
  "files remove-tag": ["files", "remove-tag", "shop", "old"],
  verify: ["verify", "shop"],
  used: ["used", "shop"],
  usage: ["usage", "shop"],
  search: ["search", "shop", "lamp"],
  call: ["call", "shop", "stock.count"],
  batch: ["batch", "shop", "rows.ndjson"],
  "change open": ["change", "open", "shop", "Spring"],
  "change list": ["change", "list", "shop"],
  "change show": ["change", "show", "shop", "abc"],
  "change diff": ["change", "diff", "shop", "abc"],
  "change comment": ["change", "comment", "shop", "abc", "Why?"],
  "change rebase": ["change", "rebase", "shop", "abc", "def"],
  "change review": ["change", "review", "shop", "abc"],
  "change approve": ["change", "approve", "shop", "abc"],
  "change reject": ["change", "reject", "shop", "abc", "no"],
  "change schedule": ["change", "schedule", "shop", "abc", "none"],
  "change publish": ["change", "publish", "shop", "abc"],
  "change revert": ["change", "revert", "shop", "abc"],
  "change close": ["change", "close", "shop", "abc"],
  "change undo-token": ["change", "undo-token", "shop", "abc"],
  tail: ["tail", "shop", "--until-now"],
  "migrate-from a hostile system": ["migrate-from", "pocketbase", SERVER, "moved"],
  "migrate-from to a hostile platform": ["migrate-from", "contentful", "export.json", "moved"],
};
/** Commands that run until they are stopped, and call the others. */
const OTHERS = ["dev", "completion"];

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
let answer: Answer = (_, response) => response.end();
/** What another server received. */
const elsewhere: { authorization: string | undefined; body: string }[] = [];
const servers = [
  createServer((request, response) => answer(request, response)),
  createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      elsewhere.push({ authorization: request.headers.authorization, body });
      response.end("{}");
    });
  }),
];
const urls: string[] = [];

beforeAll(async () => {
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
});
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** Answers any request with one JSON value, as every type of answer that a command could expect. */
function json(response: ServerResponse, value: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

interface Ran {
  code: number | null;
  said: string;
  files: string[];
}

/** Runs a command in a folder of its own, and returns everything that it said and all files that are there then. */
async function orb(args: readonly string[], terminal = false): Promise<Ran> {
  const above = tempDir("hostile");
  const folder = join(above, "project");
  mkdirSync(join(folder, "orbs"), { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(join(folder, "orbs/shop.json"), JSON.stringify({ id: "shop", modules: [] }));
  writeFileSync(join(folder, "rows.ndjson"), '{"values":{"name":"x"}}\n');
  writeFileSync(join(folder, "large.bin"), Buffer.alloc(5 * 1024 * 1024));
  writeFileSync(join(folder, "export.json"), JSON.stringify(EXPORT));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const tokens = { ORB_TOKEN: TOKEN, SOURCE_TOKEN: TOKEN };
  const env = { PATH, NODE_COMPILE_CACHE, HOME: above, ORB_URL: urls[0], ...tokens, TERM: "xterm" };
  const words = [process.execPath, COMMAND, ...args.map((word) => word.replace(SERVER, urls[0] ?? ""))];
  const shell = words.map((word) => `'${word}'`).join(" ");
  const child = terminal
    ? spawn("script", ["--quiet", "--return", "--command", shell, "/dev/null"], { cwd: folder, env })
    : spawn(process.execPath, words.slice(1), { cwd: folder, env });
  child.stdin.end();
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      said += part;
    });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const files = readdirSync(above, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.\w+$/.test(name),
  );
  return { code, said, files: files.sort() };
}

/** Files that are there whatever a server answers. */
const OWN = ["package.json", "orbs/shop.json", "rows.ndjson", "large.bin", "export.json"].map(
  (name) => `project/${name}`,
);
/** Files that commands write under names that their user chose. */
const CHOSEN = ["orbs/new.json", "orbs.d.ts", "out.bin", "moved-migration.json"].map(
  (name) => `project/${name}`,
);

function expectHarmless({ said, files }: Ran, isData = false): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
  if (!isData) expect(said).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(said).not.toMatch(/^\s+at /m);
  expect(said).not.toContain(TOKEN);
  expect(files.filter((name) => ![...OWN, ...CHOSEN].includes(name))).toEqual([]);
}

const bad = `../package${ESCAPES}`;
/** Members of a change set, and those of its entries, its comments, and the sets of a list. */
const SET = {
  ...{ title: bad, description: bad, state: bad, hash: bad, createdAt: bad, createdBy: bad },
  ...{ publishAt: bad, plannedBy: bad, entries: bad },
  review: [{ approvals: bad, given: bad, by: [bad] }],
  approvals: [{ by: bad, at: bad, hash: bad, comment: bad }],
  rejection: { by: bad, at: bad, comment: bad },
};
const CHANGED = {
  ...{ title: bad, state: bad, createdAt: bad, by: bad, at: bad, text: bad, resolved: null, entry: bad },
  ...{ field: bad, act: bad, base: {}, module: bad, schema: bad, revision: bad, status: bad },
  ...{ fields: [], conflicts: ["", bad], now: null },
};
/** Members of every answer that commands read, with values that harm. */
const EVERYTHING = {
  id: "../package",
  name: bad,
  url: `${bad}`,
  token: bad,
  account: bad,
  expiresAt: bad,
  scopes: [{ orb: bad, scope: bad }],
  revision: 1,
  publishedRevision: 1,
  summary: [bad],
  refused: true,
  impact: { changes: [], duplicates: [], invalid: [] },
  items: [{ id: "../package", values: { name: bad }, ...CHANGED }],
  nextCursor: null,
  ...SET,
  orbs: [{ id: "../package", languages: [bad], markets: [], modules: [], handlers: [] }],
  detail: bad,
  code: bad,
  errors: [null, { path: bad, code: bad, message: bad }],
};

const deepObject = `${'{"modules":'.repeat(50_000)}1${"}".repeat(50_000)}`;

const ANSWERS: Readonly<Record<string, Answer>> = {
  "names that are paths, and escape sequences": (_, response) => json(response, EVERYTHING),
  "errors with escape sequences": (_, response) => json(response, EVERYTHING, 422),
  "the type null": (_, response) => json(response, null),
  "a list": (_, response) => json(response, [[[]]]),
  numbers: (_, response) => json(response, { items: 1, orbs: 1, id: 1, errors: 1, detail: 1, url: 1 }),
  "a page of HTML": (_, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<html>${ESCAPES}`);
  },
  "deep JSON": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(`{"id":"shop","items":${"[".repeat(100_000)}${"]".repeat(100_000)},"orbs":${deepObject}}`);
  },
  "names of the prototype": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const members = `"__proto__":{"id":"x"},"constructor":{"prototype":{"id":"x"}},"toString":1,"hasOwnProperty":1`;
    const item = `{${members},"values":{${members}}}`;
    response.end(`{${members},"items":[${item}],"orbs":[${item}],"nextCursor":null,"scopes":[${item}]}`);
  },
  "a time to wait": (_, response) => json(response, EVERYTHING, 503, { "retry-after": "1e300" }),
  "redirects to another server": ({ url = "" }, response) => {
    response.writeHead(307, { location: `${urls[1]}${url}` }).end();
  },
  "redirects without end": ({ url = "" }, response) => {
    response.writeHead(302, { location: `${url}x` }).end();
  },
  "the address of an upload at another server": ({ url = "", method }, response) => {
    const other = new URL(urls[1] ?? "").host;
    if (method === "POST" && url.endsWith("/uploads"))
      response.writeHead(201, { location: `@${other}/uploads` }).end();
    else json(response, {}, 404);
  },
};

/** Runs commands against the same answer, some at the same time, and names those that were harmed. */
async function runAll(commands: readonly (readonly [string, readonly string[]])[]): Promise<void> {
  const waiting = [...commands];
  const harmed: string[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [name, args] = next;
      try {
        // A handler's output is data for a program, and stays exact in a pipe.
        expectHarmless(await orb(args), name === "call");
      } catch (error) {
        harmed.push(`orb ${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(harmed).toEqual([]);
  // Only streams may be served elsewhere, and only without the token.
  for (const { authorization, body } of elsewhere.splice(0))
    expect([authorization, body]).toEqual([undefined, ""]);
}

/** The answer that a third of the commands get in each run: each has its own use of names and texts. */
const SEEN_BY_MORE = "names that are paths, and escape sequences";

/**
 * Returns every so many commands. Each run chooses others. Commands share the reader of answers, so a defect there
 * fails with any of them. TEST_SEED=-1 returns all commands.
 * @param parts how many runs it takes at least until each command was chosen
 */
function oneOf(parts: number, index: number, all = Object.entries(COMMANDS)) {
  const seed = testSeed();
  return all.filter((_, at) => seed < 0 || (at + index + seed) % parts === 0);
}

test.each(Object.entries(ANSWERS).map(([name, how], index) => [name, how, index] as const))(
  "no command is harmed by %s",
  async (name, how, index) => {
    answer = how;
    await runAll(oneOf(name === SEEN_BY_MORE ? 3 : 16, index));
  },
  240_000,
);

/** Commands that read answers to their end. */
const READING = Object.entries(COMMANDS).filter(([name]) => !/^init|download/.test(name));
const WITHOUT_END = [
  ["application/json", " "],
  // What marks the end of a part in answers that commands read in parts.
  ["application/x-ndjson", "\n"],
  ["text/event-stream", '"event: control",\n'],
] as const;

/** Answers with a beginning, then with the same text as fast as the client takes it. */
function endless(type: string, begin: string, text: string): Answer {
  return (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": type });
    response.write(begin);
    const piece = text.repeat((1024 * 1024) / text.length);
    const more = () => {
      while (response.writable && response.write(piece));
    };
    response.on("drain", more);
    response.on("error", () => undefined);
    more();
  };
}

test.each(WITHOUT_END)(
  "an answer of the type %s without end ends every command",
  async (type, text) => {
    answer = endless(type, "[", text);
    await runAll(oneOf(READING.length >> 1, 0, READING));
  },
  240_000,
);

test("a small answer that unpacks to a large one ends every command", async () => {
  const packed = gzipSync(Buffer.alloc(200 * 1024 * 1024, " "));
  answer = (_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.end(packed);
  };
  await runAll(oneOf(READING.length >> 1, 0, READING));
}, 240_000);

/** What `GET /api/discovery` answers for the collection of the commands above. */
const DISCOVERED = {
  orbs: [
    {
      ...{ id: "shop", languages: [], markets: [] },
      modules: [{ id: "catalog", schemas: [{ id: "product", fields: [{ name: "name", type: "string" }] }] }],
    },
  ],
};

/** Answers the discovery, and lets another answer follow. */
const afterDiscovery =
  (then: Answer): Answer =>
  (request, response) => {
    if (request.url?.startsWith("/api/discovery")) json(response, DISCOVERED);
    else then(request, response);
  };

test.each(["{}\n", '{"code":"x","status":422}\n', '{"code":"x","status":503}\n'])(
  "results %j without end, for more rows than were sent, end the import",
  async (line) => {
    answer = afterDiscovery(endless("application/x-ndjson", "", line));
    const { code, said } = await orb(COMMANDS["entries import"] ?? []);
    expect([code, said]).toEqual([1, expect.stringContaining("more results than rows")]);
  },
);

test.each([
  ["spaces", " "],
  ["empty lines", "\n"],
  // Long lines, because the command reads as many bytes of short ones, which takes ten times longer.
  ["signs of life", `{"kind":"running"${" ".repeat(1_000)}}\n`],
  ["damages", '{"kind":"damage","stream":"x","says":"y"}\n'],
])("%s without end, of a check, end it", async (_, text) => {
  answer = endless("application/x-ndjson", "", text);
  expect((await orb(COMMANDS.verify ?? [])).code).toBe(1);
});

test("the same page again and again ends the export", async () => {
  answer = afterDiscovery((_, response) => json(response, { items: [], nextCursor: "next" }));
  const { code, said } = await orb(COMMANDS["entries export"] ?? []);
  expect([code, said]).toEqual([1, expect.stringContaining("the same page twice")]);
});

test("an upload whose offset goes back and forth ends", async () => {
  let offset = 1;
  answer = (request, response) => {
    request.resume();
    offset = 1 - offset;
    response.writeHead(204, { location: "/api/shop/files/uploads/abc", "upload-offset": offset }).end();
  };
  const { code, said } = await orb(COMMANDS["files upload in parts"] ?? []);
  expect([code, said]).toEqual([1, expect.stringContaining("does not store what it receives")]);
});

test("orb pull asks for one orb and gets another: nothing is written", async () => {
  answer = (_, response) => json(response, { id: "other", revision: 1, modules: [] });
  const { code, said, files } = await orb(["pull", "shop"]);
  expect(code).toBe(1);
  expect(said).toContain('answered with the orb "other" instead of shop');
  expect(files.filter((name) => !OWN.includes(name))).toEqual([]);
});

test("a terminal shows escape sequences of a server as text, and a pipe gets them as they are", async () => {
  answer = (_, response) => json(response, ESCAPES);
  const args = ["call", "shop", "stock.count"];
  const shown = await orb(args, true);
  // The terminal itself adds carriage returns.
  expect(shown.said.replaceAll("\r\n", "\n")).toBe(
    '"\\u001b[2J\\u001b]52;c;aGk=\\u0007\\u009b31m\\rshown\\u202e"\n',
  );
  const piped = await orb(args);
  expect(JSON.parse(piped.said)).toBe(ESCAPES);
});

test("the commands above are all that orb has, and only the terminal's module writes what servers say", async () => {
  const { said } = await orb(["--help"]);
  const groups = [...said.matchAll(/^ {2}orb ([\w-]+)/gm)].map(([, name]) => name ?? "");
  const tested = new Set(Object.values(COMMANDS).map(([name]) => name));
  expect(groups.filter((name) => !tested.has(name) && !OTHERS.includes(name))).toEqual([]);
  for (const group of ["token", "entries", "files", "change"]) {
    const help = await orb([group, "--help"]);
    const verbs = [...help.said.matchAll(new RegExp(`^ {2}orb ${group} ([\\w-]+)`, "gm"))].map(
      ([, verb]) => verb,
    );
    expect(verbs.length).toBeGreaterThan(1);
    for (const verb of verbs) expect(Object.keys(COMMANDS)).toContain(`${group} ${verb}`);
  }
  const sources = readdirSync(join(root, "scripts/cli"), { recursive: true, encoding: "utf8" });
  const writing = sources.filter(
    (name) =>
      name.endsWith(".ts") &&
      /process\.std(out|err)\.write|console\.(log|error)/.test(
        readFileSync(join(root, "scripts/cli", name), "utf8"),
      ),
  );
  expect(writing.sort()).toEqual(["command/progress.ts", "command/terminal.ts"]);
});

/**
 * Runs the code blocks of a Markdown page in order, as a reader would: in an empty folder, against a running platform.
 * `test/docs/README.md` says how a page controls this.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { tempDir } from "./broker.ts";
import { GO_ENV } from "./lacking.ts";
import { ANY, type Block, blocksOf, matches, member } from "./page.ts";
import { testPrograms } from "./programs.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The environment in which a page's commands run, and what the page's instructions to the test may use. */
export interface Stage {
  /** Replacements in each block, longest first: addresses and folders that the page names. */
  replace?: Record<string, string>;
  env?: Record<string, string>;
  /** Values of `NAME=…` lines by name. */
  values?: Record<string, string>;
  /** For instructions without a code block: the function that each one calls, by the first word of the instruction. */
  actions?: Record<string, (argument: string, runner: Runner) => Promise<unknown>>;
  /** Runs a script in a browser, on a page of the platform. */
  browser?: (script: string, path: string) => Promise<void>;
}

/** Maximum milliseconds until a platform has stopped on a busy machine. */
const STOP_LIMIT_MS = 20_000;
/**
 * Milliseconds for which child processes of a stopped command may continue. `go run` does not forward signals to its
 * program.
 */
const ORPHAN_LIMIT_MS = 500;

/** Instructions that apply to the block below them. */
const INSTRUCTIONS = new Set([
  "file",
  "set",
  "status",
  "exit",
  "until",
  "background",
  "browser",
  "if",
  "skip",
]);
const EXECUTED = new Set(["sh", "js", "ts", "python", "go"]);
const FILES: Record<string, (path: string) => string> = {
  js: (path) => `node ${path}`,
  ts: (path) => `node ${path}`,
  python: (path) => `python3 ${path}`,
  go: (path) => `go run ${path}`,
};
const EXTENSIONS: Record<string, string> = { js: "mjs", ts: "ts", python: "py", go: "go" };

/**
 * Returns the ids of a process's child processes. Without `/proc`, returns the negative id of the process group, which
 * stands for all of them.
 */
function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return [-pid];
  }
}

/** Runs pages, one after the other. Use it with `await using`: it stops what the pages started. */
export class Runner implements AsyncDisposable {
  readonly dir = tempDir("guide");
  #page = "";
  readonly #stage: Stage;
  readonly #running: ChildProcess[] = [];
  /** Code blocks that were skipped on this machine, with the reason. */
  readonly notRun: string[] = [];
  /** The output of the last block. */
  printed = "";
  /** The last JSON document that a block printed. */
  answer: unknown;

  constructor(stage: Stage) {
    this.#stage = stage;
    // Link the project's files into this folder, so that npm and Node find them. Files that the page writes stay in
    // this folder.
    for (const name of readdirSync(root)) {
      if (!/^(\.|docs$|test$)/.test(name)) symlinkSync(join(root, name), join(this.dir, name));
    }
    if (stage.env?.DATA_DIR !== undefined) symlinkSync(stage.env.DATA_DIR, join(this.dir, ".data"));
    writeFileSync(join(this.dir, "variables"), "");
    // Configure curl: a line break ends each body, and the status goes to standard error, where the runner reads it.
    writeFileSync(
      join(this.dir, ".curlrc"),
      'silent\nshow-error\nmax-time = 30\nwrite-out = "\\n%{stderr}HTTP-STATUS %{http_code}\\n"\n',
    );
  }

  /** Runs every block of a page. Files and variables of earlier pages stay. */
  async run(page: string): Promise<void> {
    this.#page = page;
    for (const block of blocksOf(readFileSync(join(root, this.#page), "utf8"))) {
      try {
        await this.#block(block);
      } catch (error) {
        const words = error instanceof Error ? error.message : String(error);
        throw new Error(`${this.#page}:${block.line}: ${words}`);
      }
    }
  }

  async #block(block: Block): Promise<void> {
    const { language, test } = block;
    const unknown = [...test.keys()].filter((name) => language !== "action" && !INSTRUCTIONS.has(name));
    if (unknown.length > 0) throw new Error(`a block takes no instruction "${unknown.join(", ")}"`);
    if (language === "action") {
      for (const [name, argument] of test) {
        const act = this.#stage.actions?.[name];
        if (act === undefined) throw new Error(`there is no instruction "${name}"`);
        await act(argument, this);
      }
      return;
    }
    const skipped = test.get("skip");
    if (skipped !== undefined) {
      this.notRun.push(`${this.#page}:${block.line}: ${skipped}`);
      return;
    }
    const condition = test.get("if");
    if (condition !== undefined && spawnSync("bash", ["-c", condition], { stdio: "ignore" }).status !== 0) {
      this.notRun.push(`${this.#page}:${block.line}: this command failed: ${condition}`);
      return;
    }
    const text = this.#replaced(block.text);
    const file = test.get("file");
    if (file !== undefined) {
      mkdirSync(dirname(join(this.dir, file)), { recursive: true });
      writeFileSync(join(this.dir, file), text);
      return;
    }
    const path = test.get("browser");
    if (path !== undefined) {
      if (this.#stage.browser === undefined) throw new Error("this page has no browser");
      await this.#stage.browser(text, path);
      return;
    }
    if (EXECUTED.has(language)) await this.#execute(block, text);
    else if (language === "json") this.#expectAnswer(text);
    else if (language === "text") this.#expectPrinted(text);
  }

  #expectAnswer(text: string): void {
    const shown: unknown = JSON.parse(text);
    if (!matches(this.answer, shown)) throw new Error(`the answer is ${JSON.stringify(this.answer)}`);
  }

  #expectPrinted(text: string): void {
    const printed = this.printed.split("\n").map((line) => line.trim());
    for (const line of text.split("\n").map((one) => one.trim())) {
      if (line === "" || line === ANY) continue;
      expect(
        printed.some((one) => matches(one, line)),
        `"${line}" was not printed, but:\n${this.printed}`,
      ).toBe(true);
    }
  }

  #replaced(text: string): string {
    let result = text;
    for (const [from, to] of Object.entries(this.#stage.replace ?? {})) result = result.replaceAll(from, to);
    return result;
  }

  async #execute(block: Block, given: string): Promise<void> {
    const { language, test } = block;
    let text = given.replaceAll(/^(\s*(?:export )?)([A-Z_]+)=…/gm, (_line, before: string, name: string) => {
      const path = test.get("set") ?? "";
      const [, from] = new RegExp(`(?:^|,)${name}=([^,]+)`).exec(path) ?? [];
      const value = from === undefined ? this.#stage.values?.[name] : member(this.answer, from);
      if (value === undefined) throw new Error(`nothing says what ${name} is`);
      return `${before}${name}='${value}'`;
    });
    if (language !== "sh") {
      const path = `block-${block.line}.${EXTENSIONS[language] ?? language}`;
      writeFileSync(join(this.dir, path), text);
      text = FILES[language]?.(path) ?? "";
    }
    const until = test.get("until") ?? test.get("background");
    const { printed, out, code } = await this.#shell(text, until, test.has("background"));
    this.printed = printed.replaceAll(/^HTTP-STATUS \d+\n/gm, "");
    const statuses = [...printed.matchAll(/HTTP-STATUS (\d+)/g)].map(([, status]) => Number(status));
    if (until === undefined) {
      const expected = test.get("exit") ?? "0";
      expect(String(code), `it ended with ${code}:\n${printed}`).toBe(expected);
      const wanted = test.get("status")?.split(" ").map(Number);
      if (wanted !== undefined) expect(statuses, printed).toEqual(wanted);
      else
        expect(
          statuses.filter((status) => status < 200 || status >= 400),
          printed,
        ).toEqual([]);
    }
    const last = out
      .split("\n")
      .filter((line) => /^(\{.*\}|\[.*\])$/.test(line))
      .at(-1);
    if (last !== undefined) this.answer = JSON.parse(last) as unknown;
  }

  /**
   * Runs shell commands. With a pattern, waits until the output matches it, and then stops the commands or leaves
   * them in the background.
   */
  async #shell(text: string, until: string | undefined, background: boolean) {
    const names = [
      ...new Set([...text.matchAll(/^\s*(?:export )?([A-Z][A-Z_]*)=/gm)].map(([, name]) => name)),
    ];
    const keep = names.map((name) => `declare -p ${name} >>variables 2>/dev/null || true\n`).join("");
    const script = `. ./variables\nset -e\n${text}\nset +e\n${until === undefined ? keep : ""}`;
    const { PATH, HOME, NODE_COMPILE_CACHE, PYTHONPATH } = process.env;
    const child = spawn("bash", ["-c", script], {
      cwd: this.dir,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH,
        HOME,
        NODE_COMPILE_CACHE,
        PYTHONPATH,
        ...GO_ENV,
        CURL_HOME: this.dir,
        NATS_SERVER_BIN: lastingBroker(),
        PROGRAMS_DIR: testPrograms(),
        ...this.#stage.env,
      },
    });
    this.#running.push(child);
    let printed = "";
    let out = "";
    child.stdout.on("data", (data: string) => {
      out += data;
    });
    const pattern = until === undefined ? undefined : new RegExp(until, "s");
    const seen = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (data: string) => {
          printed += data;
          if (pattern?.test(printed) === true) resolve();
        });
      }
    });
    const closed = once(child, "close");
    if (pattern === undefined) {
      await closed;
      return { printed, out, code: child.exitCode };
    }
    const found = await Promise.race([seen.then(() => true), closed.then(() => pattern.test(printed))]);
    expect(found, `it ended without printing ${until}:\n${printed}`).toBe(true);
    if (!background) await this.#stop(child);
    return { printed, out, code: child.exitCode };
  }

  /**
   * Stops a command and its orphans. Sends the signal only to the shell's own child, because npm passes it on: a second
   * signal would make `npm start` stop without waiting.
   */
  async #stop(child: ChildProcess): Promise<void> {
    const { pid } = child;
    if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const [exited, closed] = [once(child, "exit"), once(child, "close")];
    const signal = (to: number, name: NodeJS.Signals) => {
      try {
        process.kill(to, name);
      } catch {
        // The process has already ended.
      }
    };
    for (const one of childrenOf(pid)) signal(one, "SIGTERM");
    const late = setTimeout(() => signal(-pid, "SIGKILL"), STOP_LIMIT_MS);
    await exited;
    const left = setTimeout(() => signal(-pid, "SIGKILL"), ORPHAN_LIMIT_MS);
    await closed;
    clearTimeout(late);
    clearTimeout(left);
  }

  /** Stops what the page left running, the last one first. */
  async stop(): Promise<void> {
    for (const child of this.#running.splice(0).reverse()) await this.#stop(child);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

#!/usr/bin/env node
/** `orb`, the command line of the platform. */
import process from "node:process";
import yargs, { type Argv } from "yargs";
import { hideBin } from "yargs/helpers";
import { Problem } from "../../shared/client/problem.ts";
import { accountCommands } from "./account-commands.ts";
import { changeCommands } from "./change-commands.ts";
import { CommandError, type Context, contextOf, type GlobalOptions, usualUrl } from "./command/context.ts";
import { say } from "./command/terminal.ts";
import { FORMATS, type Format, inShape } from "./entries/collection.ts";
import { exportEntries } from "./entries/export.ts";
import { importEntries } from "./entries/import.ts";
import { dev, types } from "./generate.ts";
import { migrate, SYSTEMS } from "./migrate/migrate.ts";
import { callHandler, tail } from "./run.ts";
import { diff, init, pull, push } from "./schemas.ts";
import { searchEntries } from "./search.ts";
import { fileCommands } from "./stored-files/commands.ts";
import { showUsage } from "./usage.ts";
import { listUsed } from "./used.ts";
import { verify } from "./verify.ts";

const FAILED = 1;

/** Aborted on Ctrl+C, so that a command that runs until then can finish its output. */
const stopped = new AbortController();

/** Returns what the user can do if the platform rejected the token of a request. */
function tokenAdvice({ credential, loginCommand }: Context): string {
  if (credential.from === "environment") return "Set ORB_TOKEN to a token of an account that may do this.";
  if (credential.from === "file") return `Run: ${loginCommand}`;
  return `Run: ${loginCommand}. In CI, set ORB_TOKEN to a token of an account that may do this.`;
}

/**
 * Returns an error message for the user: what is wrong and how to fix it.
 * @param context undefined if the command failed before it had a context
 */
function explain(error: unknown, url: string, context: Context | undefined): string {
  if (error instanceof CommandError) return error.message;
  if (error instanceof Problem) {
    const faults = error.errors.map(({ path, message }) => `  ${path} ${message}`);
    const advice =
      error.status === 401 && context !== undefined
        ? [tokenAdvice(context)]
        : error.requestId === null || error.status < 500
          ? []
          : [`Request ${error.requestId}`];
    return [`${error.message} (${error.code})`, ...faults, ...advice].join("\n");
  }
  if (error instanceof TypeError && error.message === "fetch failed")
    return `Cannot reach ${url}. Check that the platform runs there, or set --url or ORB_URL.`;
  // Commands trust the types of answers. So an answer of another program fails where a command uses it.
  if (error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError)
    return `${url} sent an answer that orb does not understand (${error.message}). Check that a platform of this version runs there.`;
  return error instanceof Error ? error.message : String(error);
}

function failure(error: unknown, { url, json }: GlobalOptions, context: Context | undefined): void {
  const text = explain(error, url, context);
  const program =
    error instanceof Problem
      ? { ...error.body, code: error.code, status: error.status }
      : { code: "failed", detail: text };
  say("stderr", json ? JSON.stringify({ error: program }) : text);
  process.exitCode = FAILED;
}

type Globals = GlobalOptions;

/** Runs a command and sets the exit code of the process. */
async function run(options: Globals, act: (context: Context) => Promise<number>): Promise<void> {
  let context: Context | undefined;
  try {
    context = contextOf(options, process.env);
    process.exitCode = await act(context);
  } catch (error) {
    failure(error, options, context);
  }
}

const ids = (y: Argv<Globals>, what: string) =>
  y.positional("orbs", { type: "string", array: true, default: [] as string[], describe: what });
const CHANGE = "Id of a change set: the document that the set will publish, instead of the newest one";
const out = { type: "string", default: "orbs.d.ts", describe: "File to write" } as const;

const collectionOf = (y: Argv<Globals>) =>
  y
    .positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" })
    .positional("collection", { type: "string", demandOption: true, describe: "module/schema" })
    .option("format", { choices: FORMATS, describe: "By the name of the file if missing" })
    .option("definition", {
      type: "number",
      describe:
        "Revision of the orb's document whose names and types the file has; the current ones if missing",
    });

function formatOf({ format }: { format?: Format | undefined }, file: string | undefined): Format {
  const ending = file?.split(".").at(-1)?.toLowerCase();
  return format ?? (ending === "csv" || ending === "tsv" ? ending : "ndjson");
}

process.once("SIGINT", () => stopped.abort());
process.once("SIGTERM", () => stopped.abort());

/** Refuses an option that is given twice, unless it is a list. Otherwise its value would be a list too. */
function checkOnce(
  args: Readonly<Record<string, unknown>>,
  { array }: Readonly<Record<string, unknown>>,
): true {
  const lists: readonly unknown[] = Array.isArray(array) ? array : [];
  for (const [name, value] of Object.entries(args))
    if (name !== "_" && Array.isArray(value) && !lists.includes(name))
      throw new Error(`--${name} must be given only once.`);
  return true;
}

const cli: Argv<Globals> = yargs(hideBin(process.argv))
  .scriptName("orb")
  .usage(
    "$0 <command>\n\nWorks with the orbs of a platform. Begin with: orb login. In CI, set ORB_TOKEN to a token.",
  )
  .option("url", {
    type: "string",
    default: usualUrl(process.env),
    describe: "Address of the platform; by default ORB_URL, or that of your last login",
  })
  .option("json", { type: "boolean", default: false, describe: "Print JSON for programs" })
  .option("dir", { type: "string", default: "orbs", describe: "Folder of the orbs' files" });

await fileCommands(changeCommands(accountCommands(cli, run, stopped.signal), run), run, stopped.signal)
  .command(
    "init <orb>",
    "Write the file of a new orb",
    (y) => y.positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" }),
    (args) => run(args, (context) => init(context, args.orb)),
  )
  .command(
    "pull [orbs..]",
    "Write the newest revision of orbs into files",
    (y) => ids(y, "Ids; all orbs of the platform if missing"),
    (args) => run(args, (context) => pull(context, args.orbs)),
  )
  .command(
    "diff [orbs..]",
    "Show what a push would change, with its effect on stored entries. Exits with 2 if something differs",
    (y) => ids(y, "Ids; all files if missing").option("change", { type: "string", describe: CHANGE }),
    (args) => run(args, (context) => diff(context, args.orbs, args)),
  )
  .command(
    "push [orbs..]",
    "Write files to the platform as drafts",
    (y) =>
      ids(y, "Ids; all files if missing")
        .option("publish", { type: "boolean", default: false, describe: "Publish them, too" })
        .option("force", {
          type: "boolean",
          default: false,
          describe: "Remove modules and schemas although they have entries",
        })
        .option("change", { type: "string", describe: CHANGE }),
    (args) => run(args, (context) => push(context, args.orbs, args)),
  )
  .command(
    "verify [orbs..]",
    "Let the platform check all stored data of orbs. Exits with 1 if something is missing or contradicts itself",
    (y) => ids(y, "Ids; all orbs of the platform if missing"),
    (args) => run(args, (context) => verify(context, args.orbs)),
  )
  .command(
    "used <orb>",
    "List the revisions of an orb's document that callers still name, and who they are",
    (y) => y.positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" }),
    (args) => run(args, (context) => listUsed(context, args.orb)),
  )
  .command(
    "usage <orb>",
    "Show the requests to an orb, its errors by code, lists without an index, and what it stores",
    (y) =>
      y
        .positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" })
        .option("hours", { type: "number", describe: "Hours to count; 24 if missing, at most 168" }),
    (args) => run(args, (context) => showUsage(context, args.orb, args.hours)),
  )
  .command(
    "types",
    "Write TypeScript types of all published orbs",
    (y) =>
      y.option("out", out).option("watch", {
        type: "boolean",
        default: false,
        describe: "Write them again after each publication",
      }),
    (args) => run(args, (context) => types(context, { ...args, signal: stopped.signal })),
  )
  .command(
    "dev",
    "Push each file when it is saved, and keep the types up to date",
    (y) =>
      y.option("out", out).option("publish", {
        type: "boolean",
        default: false,
        describe: "Publish each revision. Use it only on a platform of your own",
      }),
    (args) => run(args, (context) => dev(context, { ...args, signal: stopped.signal })),
  )
  .command("entries", "Export and import entries", (y) =>
    y
      .command(
        "export <orb> <collection>",
        "Write all entries of a collection, such as catalog/product",
        (each) =>
          collectionOf(each).option("out", { type: "string", describe: "File; standard output if missing" }),
        (args) =>
          run(args, (context) =>
            exportEntries(inShape(context, args), { ...args, format: formatOf(args, args.out) }),
          ),
      )
      .command(
        "import <orb> <collection> <file>",
        "Create an entry for each line or row of a file, or change it. Run it again after an interruption",
        (each) =>
          collectionOf(each)
            .positional("file", { type: "string", demandOption: true, describe: "JSON Lines or CSV" })
            .option("publish", { type: "boolean", default: false, describe: "Publish them, too" })
            .option("change", {
              type: "string",
              describe: "Change set into which the rows are written, instead of the entries",
            })
            .option("run", {
              type: "string",
              describe: "Name of the import. Its rows are stored once; the path of the file if missing",
            })
            .option("match", {
              type: "string",
              describe: "Unique field, such as sku: a row with the value of an entry changes that entry",
            })
            .option("files", {
              type: "string",
              describe: "Folder of the files that rows name by their path, such as photos/1.jpg",
            })
            .option("local-files", {
              type: "boolean",
              default: false,
              describe: "Let addresses of files lead to this machine, such as http://localhost",
            })
            .option("keep", {
              type: "boolean",
              default: false,
              describe: "Store status, createdAt and createdBy as the file says",
            })
            .option("on", {
              choices: ["upsert", "update", "skip"] as const,
              describe: "With --match: change and create entries (default), only change, or only create",
            }),
        (args) =>
          run(args, (context) => {
            const { format, run: name, match, on, files, change } = args;
            const options = { ...args, format, run: name, match, on, files, change };
            return importEntries(inShape(context, args), options);
          }),
      )
      .demandCommand(1, "Name a command: export or import."),
  )
  .command(
    "migrate-from <system> <source> <orb>",
    "Make a new orb of the content of another system. Run it again after an interruption. Exits with 1 if something differs",
    (y) =>
      y
        .positional("system", { choices: SYSTEMS, demandOption: true, describe: "The other system" })
        .positional("source", {
          type: "string",
          demandOption: true,
          describe: "File of its export, or its address",
        })
        .positional("orb", { type: "string", demandOption: true, describe: "Id of the orb to make" })
        .option("dry-run", {
          type: "boolean",
          default: false,
          describe: "Show the document of the orb and what cannot be carried. Write nothing",
        })
        .option("files", { type: "string", describe: "Folder of the files; by default that of the export" })
        .option("local-files", {
          type: "boolean",
          default: false,
          describe: "Let addresses of files lead to this machine, such as http://localhost",
        })
        .option("read", {
          choices: ["public", "user", "admin"] as const,
          default: "admin",
          describe: "Who may read published entries",
        })
        .option("report", {
          type: "string",
          describe: "File of the report; <orb>-migration.json if missing",
        }),
    (args) =>
      run(args, (context) => {
        const { system, files, report } = args;
        return migrate(context, { ...args, system, files, report });
      }),
  )
  .command(
    "search <orb> <text>",
    "Search the entries of all collections for words",
    (y) =>
      y
        .positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" })
        .positional("text", { type: "string", demandOption: true, describe: "Words, or the id of an entry" })
        .option("limit", { type: "number", default: 20, describe: "How many" })
        .option("draft", { type: "boolean", default: false, describe: "Search the newest drafts" })
        .option("locale", { type: "string", describe: "Language; all languages if missing" })
        .option("change", { type: "string", describe: "Id of a change set: shows what it will leave" }),
    (args) =>
      run(args, (context) => searchEntries(context, { ...args, locale: args.locale, change: args.change })),
  )
  .command(
    "call <orb> <handler> [input]",
    "Call a handler, and print its response as JSON",
    (y) =>
      y
        .positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" })
        .positional("handler", { type: "string", demandOption: true, describe: "service.handler" })
        .positional("input", { type: "string", describe: "JSON; - reads it from the standard input" }),
    (args) => run(args, (context) => callHandler(context, args.orb, args.handler, args.input)),
  )
  .command(
    "tail <stream>",
    "Print the messages of a stream as they come, one line of JSON each",
    (y) =>
      y
        .positional("stream", { type: "string", demandOption: true, describe: "Name of the stream" })
        .option("offset", {
          type: "string",
          default: "now",
          describe: "now, -1 for the oldest, or an offset",
        })
        .option("until-now", { type: "boolean", default: false, describe: "Stop at the newest message" }),
    (args) =>
      run(args, (context) =>
        tail(context, args.stream, { offset: args.offset, until: args.untilNow, signal: stopped.signal }),
      ),
  )
  .completion("completion", "Print a script for completion. Append it to ~/.bashrc or ~/.zshrc")
  .demandCommand(1, "Name a command.")
  .recommendCommands()
  .strict()
  .check(checkOnce)
  .showHelpOnFail(false, "Run orb --help to see all commands.")
  .help()
  .alias("help", "h")
  .version(false)
  .wrap(Math.min(100, process.stdout.columns ?? 100))
  .parseAsync();

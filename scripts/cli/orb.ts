#!/usr/bin/env node
/** `orb`, the command line of the platform. */
import process from "node:process";
import yargs, { type Argv } from "yargs";
import { hideBin } from "yargs/helpers";
import { Problem } from "../../shared/client/problem.ts";
import { accountCommands } from "./account-commands.ts";
import { CommandError, type Context, contextOf, type GlobalOptions, usualUrl } from "./command/context.ts";
import { exportEntries, FORMATS, type Format, importEntries } from "./entries.ts";
import { dev, types } from "./generate.ts";
import { callHandler, tail } from "./run.ts";
import { diff, init, pull, push } from "./schemas.ts";
import { downloadFile, linkFile, uploadFile } from "./stored-files.ts";

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
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function failure(error: unknown, { url, json }: GlobalOptions, context: Context | undefined): void {
  const text = explain(error, url, context);
  const program =
    error instanceof Problem
      ? { ...error.body, code: error.code, status: error.status }
      : { code: "failed", detail: text };
  process.stderr.write(json ? `${JSON.stringify({ error: program })}\n` : `${text}\n`);
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
const out = { type: "string", default: "orbs.d.ts", describe: "File to write" } as const;

const collectionOf = (y: Argv<Globals>) =>
  y
    .positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" })
    .positional("collection", { type: "string", demandOption: true, describe: "module/schema" })
    .option("format", { choices: FORMATS, describe: "By the name of the file if missing" });

const orbOf = (y: Argv<Globals>) =>
  y.positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" });
const fileOf = (y: Argv<Globals>) =>
  orbOf(y).positional("id", { type: "string", demandOption: true, describe: "Id of the file" });

function formatOf({ format }: { format?: Format | undefined }, file: string | undefined): Format {
  return format ?? (file?.endsWith(".csv") === true ? "csv" : "ndjson");
}

process.once("SIGINT", () => stopped.abort());
process.once("SIGTERM", () => stopped.abort());

const cli: Argv<Globals> = yargs(hideBin(process.argv))
  .parserConfiguration({ "duplicate-arguments-array": false })
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

await accountCommands(cli, run, stopped.signal)
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
    (y) => ids(y, "Ids; all files if missing"),
    (args) => run(args, (context) => diff(context, args.orbs)),
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
        }),
    (args) => run(args, (context) => push(context, args.orbs, args)),
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
          run(args, (context) => exportEntries(context, { ...args, format: formatOf(args, args.out) })),
      )
      .command(
        "import <orb> <collection> <file>",
        "Create an entry for each line or row of a file. Run it again to go on after an interruption",
        (each) =>
          collectionOf(each)
            .positional("file", { type: "string", demandOption: true, describe: "JSON Lines or CSV" })
            .option("publish", { type: "boolean", default: false, describe: "Publish them, too" }),
        (args) =>
          run(args, (context) => importEntries(context, { ...args, format: formatOf(args, args.file) })),
      )
      .demandCommand(1, "Name a command: export or import."),
  )
  .command("files", "Upload, download and share files of entries", (y) =>
    y
      .command(
        "upload <orb> <file>",
        'Upload a file, and print its id. An entry refers to it as {"file": "<id>"}',
        (each) =>
          orbOf(each).positional("file", {
            type: "string",
            demandOption: true,
            describe: "Path of the file",
          }),
        (args) =>
          run(args, (context) =>
            uploadFile(context, { orb: args.orb, path: args.file, signal: stopped.signal }),
          ),
      )
      .command(
        "download <orb> <id>",
        "Download a file",
        (each) =>
          fileOf(each).option("out", { type: "string", describe: "File; standard output if missing" }),
        (args) => run(args, (context) => downloadFile(context, { ...args, signal: stopped.signal })),
      )
      .command(
        "link <orb> <id>",
        "Print a link with which anyone can download a file until it expires",
        (each) =>
          fileOf(each).option("seconds", { type: "number", describe: "Lifetime; an hour if missing" }),
        (args) => run(args, (context) => linkFile(context, args)),
      )
      .demandCommand(1, "Name a command: upload, download or link."),
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
  .showHelpOnFail(false, "Run orb --help to see all commands.")
  .help()
  .alias("help", "h")
  .version(false)
  .wrap(Math.min(100, process.stdout.columns ?? 100))
  .parseAsync();

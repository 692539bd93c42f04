/** Declares the commands that write several entries together: `orb batch` and `orb change`. */
import type { Argv } from "yargs";
import { CHANGE_STATES } from "../../shared/client/changes.ts";
import { writeBatch } from "./batch.ts";
import {
  approveChange,
  closeChange,
  commentChange,
  diffChange,
  listChanges,
  openChange,
  publishChange,
  rebaseChange,
  rejectChange,
  requestReview,
  revertChange,
  scheduleChange,
  showChange,
  undoToken,
} from "./changes.ts";
import type { Context, GlobalOptions } from "./command/context.ts";

type Run = (options: GlobalOptions, act: (context: Context) => Promise<number>) => Promise<void>;

const orbOf = (y: Argv<GlobalOptions>) =>
  y.positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" });
const setOf = (y: Argv<GlobalOptions>) =>
  orbOf(y).positional("id", { type: "string", demandOption: true, describe: "Id of the change set" });
const withHash = (y: Argv<GlobalOptions>) =>
  setOf(y).option("hash", {
    type: "string",
    describe: "Only this content, as orb change show prints it. By default the content as it is",
  });

/** Adds the commands batch and change. */
export function changeCommands(cli: Argv<GlobalOptions>, run: Run): Argv<GlobalOptions> {
  return cli
    .command(
      "batch <orb> <file>",
      "Create, change and delete up to 200 entries in one write: all of them, or none",
      (y) =>
        orbOf(y)
          .positional("file", {
            type: "string",
            demandOption: true,
            describe: 'JSON Lines, one item each, or {"do": […]}; - reads the standard input',
          })
          .option("change", { type: "string", describe: "Id of the change set to write into" }),
      (args) => run(args, (context) => writeBatch(context, { ...args, change: args.change })),
    )
    .command("change", "Work with change sets: changes that are reviewed and published together", (y) =>
      decisions(discussing(reading(y, run), run), run).demandCommand(
        1,
        "Name a command: open, list, show, diff, comment, rebase, review, approve, reject, schedule, publish, revert, undo-token or close.",
      ),
    );
}

function reading(y: Argv<GlobalOptions>, run: Run): Argv<GlobalOptions> {
  return y
    .command(
      "open <orb> <title>",
      "Open a change set, and print its id",
      (each) =>
        orbOf(each)
          .positional("title", { type: "string", demandOption: true, describe: "Name for people" })
          .option("description", { type: "string", describe: "What the set is for" }),
      (args) => run(args, (context) => openChange(context, { ...args, description: args.description })),
    )
    .command(
      "list <orb>",
      "List change sets, newest first",
      (each) =>
        orbOf(each)
          .option("state", { choices: CHANGE_STATES, describe: "Only sets in this state" })
          .option("author", { type: "string", describe: "Only sets of this account" })
          .option("limit", { type: "number", default: 50, describe: "How many" }),
      (args) =>
        run(args, (context) => listChanges(context, { ...args, state: args.state, author: args.author })),
    )
    .command("show <orb> <id>", "Show a change set, its approvals and open comments", setOf, (args) =>
      run(args, (context) => showChange(context, args)),
    )
    .command(
      "diff <orb> <id>",
      "Show what a change set changes. Exits with 2 if there are conflicts",
      (each) =>
        setOf(each).option("exit-code", {
          type: "boolean",
          default: false,
          describe: "Exit with 1 if the set changes something",
        }),
      (args) => run(args, (context) => diffChange(context, args)),
    );
}

function discussing(y: Argv<GlobalOptions>, run: Run): Argv<GlobalOptions> {
  return y
    .command(
      "comment <orb> <id> <text>",
      "Comment on a change set, or on one of its entries",
      (each) =>
        setOf(each)
          .positional("text", { type: "string", demandOption: true, describe: "The comment" })
          .option("entry", { type: "string", describe: "What it is about: module/schema/id" })
          .option("field", { type: "string", implies: "entry", describe: "The field of the entry" }),
      (args) =>
        run(args, (context) => commentChange(context, { ...args, entry: args.entry, field: args.field })),
    )
    .command(
      "rebase <orb> <id> [entry]",
      "Let the version of an entry, or the definition of the orb, start from the live revision of now",
      (each) =>
        setOf(each)
          .positional("entry", {
            type: "string",
            describe: "Id of the entry. Without it, the definition is merged with the live one",
          })
          .option("keep", {
            type: "string",
            array: true,
            default: [],
            describe:
              "Which value stays in a conflict, as orb change diff shows it: /values/price=live, /values/title/en=change",
          }),
      (args) => run(args, (context) => rebaseChange(context, { ...args, entry: args.entry })),
    );
}

function decisions(y: Argv<GlobalOptions>, run: Run): Argv<GlobalOptions> {
  return y
    .command("review <orb> <id>", "Ask for a review", setOf, (args) =>
      run(args, (context) => requestReview(context, args)),
    )
    .command(
      "approve <orb> <id>",
      "Approve the content of a change set",
      (each) => withHash(each).option("comment", { type: "string", describe: "A text for the authors" }),
      (args) =>
        run(args, (context) => approveChange(context, { ...args, hash: args.hash, comment: args.comment })),
    )
    .command(
      "reject <orb> <id> <comment>",
      "Send a change set back to its authors",
      (each) =>
        setOf(each).positional("comment", {
          type: "string",
          demandOption: true,
          describe: "What the authors should do",
        }),
      (args) => run(args, (context) => rejectChange(context, args)),
    )
    .command(
      "schedule <orb> <id> <time>",
      "Publish a change set at a time, once it is approved",
      (each) =>
        withHash(each).positional("time", {
          type: "string",
          demandOption: true,
          describe: "Such as 2030-03-01T09:00:00+01:00; none gives the plan up",
        }),
      (args) => run(args, (context) => scheduleChange(context, { ...args, hash: args.hash })),
    )
    .command(
      "publish <orb> <id>",
      "Publish all entries of a change set together, or none",
      withHash,
      (args) => run(args, (context) => publishChange(context, { ...args, hash: args.hash })),
    )
    .command(
      "revert <orb> <id>",
      "Open a change set that takes back what another one has published, and print its id",
      setOf,
      (args) => run(args, (context) => revertChange(context, args)),
    )
    .command(
      "undo-token <orb> <token>",
      "Open a change set that takes back what an API token has published, and print its id",
      (each) =>
        each
          .positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" })
          .positional("token", { type: "string", demandOption: true, describe: "Id of the API token" })
          .option("cursor", { type: "string", describe: "Where to go on, as the last run says" }),
      (args) => run(args, (context) => undoToken(context, { ...args, cursor: args.cursor })),
    )
    .command("close <orb> <id>", "Close a change set without publishing it", setOf, (args) =>
      run(args, (context) => closeChange(context, args)),
    );
}

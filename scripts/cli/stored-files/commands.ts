/** Declares the commands for files and the library of files. */
import type { Argv } from "yargs";
import type { Context, GlobalOptions } from "../command/context.ts";
import { downloadFile, linkFile, uploadFile } from "./content.ts";
import {
  changeTag,
  deleteFiles,
  describeFile,
  listLibrary,
  listTags,
  replaceLibraryFile,
  tagFiles,
} from "./library.ts";

type Run = (options: GlobalOptions, act: (context: Context) => Promise<number>) => Promise<void>;

const orbOf = (y: Argv<GlobalOptions>) =>
  y.positional("orb", { type: "string", demandOption: true, describe: "Id of the orb" });
const fileOf = (y: Argv<GlobalOptions>) =>
  orbOf(y).positional("id", { type: "string", demandOption: true, describe: "Id of the file" });
const filesOf = (y: Argv<GlobalOptions>) =>
  orbOf(y).positional("ids", {
    type: "string",
    array: true,
    default: [] as string[],
    describe: "Ids of files",
  });
const tagOf = (y: Argv<GlobalOptions>) =>
  orbOf(y).positional("tag", { type: "string", demandOption: true, describe: "A tag" });
/** An option that can be repeated. */
const several = (describe: string) =>
  ({ type: "string", array: true, default: [] as string[], describe }) as const;

/** Adds the commands that send and receive the content of files. */
function contents(y: Argv<GlobalOptions>, run: Run, stopped: AbortSignal): Argv<GlobalOptions> {
  return y
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
        run(args, (context) => uploadFile(context, { orb: args.orb, path: args.file, signal: stopped })),
    )
    .command(
      "download <orb> <id>",
      "Download a file",
      (each) => fileOf(each).option("out", { type: "string", describe: "File; standard output if missing" }),
      (args) => run(args, (context) => downloadFile(context, { ...args, signal: stopped })),
    )
    .command(
      "link <orb> <id>",
      "Print a link with which anyone can download a file until it expires",
      (each) => fileOf(each).option("seconds", { type: "number", describe: "Lifetime; an hour if missing" }),
      (args) => run(args, (context) => linkFile(context, args)),
    );
}

/** Adds the commands for the tags of files. */
function tags(y: Argv<GlobalOptions>, run: Run): Argv<GlobalOptions> {
  return y
    .command(
      "tag <orb> <ids..>",
      "Add tags to files, and remove others",
      (each) =>
        filesOf(each)
          .option("add", several("A tag to add; repeat it for several"))
          .option("remove", several("A tag to remove; repeat it for several")),
      (args) => run(args, (context) => tagFiles(context, args)),
    )
    .command("tags <orb>", "Print the tags of all files", orbOf, (args) =>
      run(args, (context) => listTags(context, args.orb)),
    )
    .command(
      "rename-tag <orb> <tag> <to>",
      "Rename a tag in all files",
      (each) =>
        tagOf(each).positional("to", { type: "string", demandOption: true, describe: "The new name" }),
      (args) => run(args, (context) => changeTag(context, { orb: args.orb, from: args.tag, to: args.to })),
    )
    .command("remove-tag <orb> <tag>", "Remove a tag from all files", tagOf, (args) =>
      run(args, (context) => changeTag(context, { orb: args.orb, from: args.tag, to: null })),
    );
}

/** Adds the commands of the library. */
function library(y: Argv<GlobalOptions>, run: Run, stopped: AbortSignal): Argv<GlobalOptions> {
  return y
    .command(
      "list <orb>",
      "List the files of an orb, those that changed last first",
      (each) =>
        orbOf(each)
          .option("search", { type: "string", describe: "Words in the name, the texts or the tags" })
          .option("type", { type: "string", describe: "Media type, such as image/png or image/*" })
          .option("tag", { type: "string", describe: "Only files with this tag" })
          .option("unused", { type: "boolean", default: false, describe: "Only files that no entry has" })
          .option("replaced", {
            type: "boolean",
            default: false,
            describe: "Only files that others replaced",
          })
          .option("limit", { type: "number", default: 100, describe: "How many" }),
      (args) =>
        run(args, (context) =>
          listLibrary(context, { ...args, search: args.search, type: args.type, tag: args.tag }),
        ),
    )
    .command(
      "describe <orb> <id>",
      "Change the description of a file, and print it",
      (each) =>
        fileOf(each)
          .option("alt", several('Alternative text: en="A red chair"; repeat it for other languages'))
          .option("caption", several('Caption: en="Designed in 1929"'))
          .option("name", { type: "string", describe: "New name of the file" })
          .option("focal", { type: "string", describe: "Focal point, such as 0.5,0.3; none removes it" })
          .option("crop", {
            type: "string",
            describe: "Left, top, width, height: 0,0,1,0.5; none removes it",
          }),
      (args) =>
        run(args, (context) =>
          describeFile(context, { ...args, name: args.name, focal: args.focal, crop: args.crop }),
        ),
    )
    .command(
      "replace <orb> <id>",
      "Replace a file by another one in all entries",
      (each) =>
        fileOf(each)
          .option("by", { type: "string", describe: "Id of the new file" })
          .option("file", { type: "string", describe: "Path of the new file, which is uploaded" }),
      (args) =>
        run(args, (context) =>
          replaceLibraryFile(context, { ...args, by: args.by, file: args.file, signal: stopped }),
        ),
    )
    .command(
      "delete <orb> [ids..]",
      "Delete files that no entry has",
      (each) =>
        filesOf(each)
          .option("unused", { type: "boolean", default: false, describe: "All files that no entry has" })
          .option("yes", {
            type: "boolean",
            default: false,
            describe: "With --unused: delete, not only list",
          }),
      (args) => run(args, (context) => deleteFiles(context, args)),
    );
}

/**
 * Adds the command files with those below it.
 * @param stopped aborted when the user stops the command
 */
export function fileCommands(cli: Argv<GlobalOptions>, run: Run, stopped: AbortSignal): Argv<GlobalOptions> {
  return cli.command("files", "Upload, download, describe and share files", (y) =>
    tags(library(contents(y, run, stopped), run, stopped), run).demandCommand(
      1,
      "Name a command: list, describe, tag, tags, rename-tag, remove-tag, replace, delete, upload, download or link.",
    ),
  );
}

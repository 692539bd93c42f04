import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { Failure } from "./failure.ts";

export interface Arguments<Name extends string, Flag extends string> {
  values: Record<Name, string>;
  flags: Record<Flag, boolean>;
}

/**
 * Reads the command line of a script.
 * @param usage one line, such as `npm run backup -- <folder>`
 * @param names required arguments, in order
 * @param flags optional flags, without the dashes
 */
export function readArguments<const Name extends string = never, const Flag extends string = never>(
  usage: string,
  names: readonly Name[] = [],
  flags: readonly Flag[] = [],
): Arguments<Name, Flag> {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    ["help", ...flags].map((flag) => [flag, { type: "boolean" }]),
  );
  let given: ReturnType<typeof parseArgs>;
  try {
    given = parseArgs({ options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Failure(`${error instanceof Error ? error.message : String(error)}\nUsage: ${usage}`);
  }
  if (given.values.help === true) {
    console.log(`Usage: ${usage}`);
    process.exit(0);
  }
  if (given.positionals.length !== names.length) throw new Failure(`Usage: ${usage}`);
  return {
    values: Object.fromEntries(names.map((name, at) => [name, given.positionals[at]])) as Record<
      Name,
      string
    >,
    flags: Object.fromEntries(flags.map((flag) => [flag, given.values[flag] === true])) as Record<
      Flag,
      boolean
    >,
  };
}

export function refuseArguments(command: string): void {
  if (process.argv.length > 2)
    throw new Failure(`${command} takes no arguments. Set variables instead, such as PORT=9000 ${command}.`);
}

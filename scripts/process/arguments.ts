import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { Failure } from "./failure.ts";

export interface Arguments<Name extends string, Flag extends string, Option extends string> {
  values: Record<Name, string>;
  flags: Record<Flag, boolean>;
  options: Record<Option, string | undefined>;
}

/**
 * Reads the command line of a script.
 * @param usage one line, such as `npm run backup -- <folder>`
 * @param names names of the required arguments, in order
 * @param flags names of optional flags, without the dashes
 * @param options names of options that take a value, without the dashes
 */
export function readArguments<
  const Name extends string = never,
  const Flag extends string = never,
  const Option extends string = never,
>(
  usage: string,
  names: readonly Name[] = [],
  flags: readonly Flag[] = [],
  options: readonly Option[] = [],
): Arguments<Name, Flag, Option> {
  const known: ParseArgsOptionsConfig = Object.fromEntries([
    ...["help", ...flags].map((flag) => [flag, { type: "boolean" }]),
    ...options.map((option) => [option, { type: "string" }]),
  ]);
  let given: ReturnType<typeof parseArgs>;
  try {
    given = parseArgs({ options: known, allowPositionals: true, strict: true });
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
    options: Object.fromEntries(options.map((option) => [option, given.values[option]])) as Record<
      Option,
      string | undefined
    >,
  };
}

export function refuseArguments(command: string): void {
  if (process.argv.length > 2)
    throw new Failure(`${command} takes no arguments. Set variables instead, such as PORT=9000 ${command}.`);
}

/** The commands `orb call` and `orb tail`. */
import { text } from "node:stream/consumers";
import { readStream } from "../../shared/client/stream.ts";
import { CommandError, type Context } from "./command/context.ts";
import { print } from "./command/terminal.ts";

/** Parses the handler's input as JSON. If the argument is `-`, reads the input from standard input. */
async function inputOf(given: string | undefined): Promise<unknown> {
  if (given === undefined) return undefined;
  const source = given === "-" ? await text(process.stdin) : given;
  try {
    return JSON.parse(source) as unknown;
  } catch {
    throw new CommandError(
      `The input must be JSON, for example '{"sku":"AB-1"}' (is ${source.slice(0, 80)}).`,
    );
  }
}

/** Calls a handler and prints its response as JSON. */
export async function callHandler(
  { transport }: Context,
  orb: string,
  handler: string,
  given: string | undefined,
): Promise<number> {
  // Include the service in the path. The handler's name alone is ambiguous if two services have a handler of the same
  // name.
  const named = handler.split(".").map(encodeURIComponent).join("/");
  const response = await transport.send({
    method: "POST",
    path: `/api/${encodeURIComponent(orb)}/call/${named}`,
    body: await inputOf(given),
    repeat: "refused",
  });
  print(JSON.stringify(await response.json(), null, 2));
  return 0;
}

/**
 * Prints each message of a stream as a line of JSON as soon as it arrives.
 * @param options.offset offset at which to start reading. At the end, the command prints the last offset to standard
 *   error, so that a later run can continue there.
 */
export async function tail(
  context: Context,
  name: string,
  options: { offset: string; until: boolean; signal: AbortSignal },
): Promise<number> {
  let { offset } = options;
  try {
    for await (const batch of readStream(context.transport, name, { offset, signal: options.signal })) {
      for (const message of batch.messages) print(JSON.stringify(message));
      offset = batch.offset;
      if (options.until && batch.upToDate) break;
    }
  } catch (error) {
    if (!options.signal.aborted) throw error;
  }
  context.note(`Continue with: orb tail ${name} --offset ${offset}`);
  return 0;
}

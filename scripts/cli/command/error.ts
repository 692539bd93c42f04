/** An error whose message tells the user what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

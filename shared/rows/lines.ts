/** Splits text that arrives in parts into lines. */

const END = /\r\n|\n|\r/;

/**
 * Yields the lines of a text, the last one too if it is empty. Each part is copied once, however long a line is.
 * @param parts the text, cut anywhere, even between the characters of a line end
 */
export async function* linesOf(parts: AsyncIterable<string>): AsyncGenerator<string> {
  /** The parts of a line that has not ended yet. */
  let begun: string[] = [];
  /** A carriage return at the end of a part. The next part may begin with the line feed that belongs to it. */
  let held = "";
  for await (const part of parts) {
    const text = held + part;
    held = text.endsWith("\r") ? "\r" : "";
    const [first = "", ...more] = (held === "" ? text : text.slice(0, -1)).split(END);
    begun.push(first);
    const last = more.pop();
    if (last === undefined) continue;
    yield begun.join("");
    yield* more;
    begun = [last];
  }
  yield begun.join("");
  if (held !== "") yield "";
}

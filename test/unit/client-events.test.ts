/** The client reads events of a stream as soon as they are complete, wherever the network cuts them. */
import { expect, test } from "vitest";
import { eventsOf, type SentEvent } from "../../shared/client/stream.ts";

const EVENTS: SentEvent[] = [
  { name: "data", data: '[{"a":1}]', id: undefined },
  { name: "control", data: "{}", id: "7" },
  { name: "message", data: "one\ntwo", id: undefined },
];
const TEXT =
  'event: data\ndata: [{"a":1}]\n\nevent: control\nid: 7\ndata: {}\n\n: kept alive\ndata: one\ndata: two\n\n';

function streamOf(chunks: readonly string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
      controller.close();
    },
  });
}

async function read(stream: ReadableStream<Uint8Array>): Promise<SentEvent[]> {
  const events: SentEvent[] = [];
  for await (const event of eventsOf(stream)) events.push(event);
  return events;
}

for (const [name, text] of [
  ["line feeds", TEXT],
  ["carriage returns", TEXT.replaceAll("\n", "\r\n")],
] as const)
  test(`events with ${name} are the same in chunks of any size`, async () => {
    for (let size = 1; size <= text.length; size++) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        text.slice(at * size, (at + 1) * size),
      );
      expect(await read(streamOf(chunks)), `chunks of ${size}`).toEqual(EVENTS);
    }
  });

test("an event arrives with its last line, before the next chunk", async () => {
  const encoder = new TextEncoder();
  for (const end of ["\n", "\r\n"]) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const events = eventsOf(readable);
    void writer.write(encoder.encode(`data: x${end}${end}`));
    expect((await events.next()).value).toMatchObject({ data: "x" });
    void writer.close();
  }
});

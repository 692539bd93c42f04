import type { Connection } from "../client/index.ts";
import { remember } from "../many.ts";
import type { Page, ScanOptions, StoredMessage } from "../types.ts";
import { caughtUp, collect, inspect, leaderGet, NoResponders, received } from "./read.ts";
import { walk } from "./walk.ts";

/**
 * Reads a page of messages that match a filter, in stream order. Any replica may respond if the stream allows direct
 * reads; otherwise only the leader responds.
 */
export async function scan(
  connection: Connection,
  stream: string,
  filter: string,
  options: ScanOptions,
): Promise<Page> {
  const { fromSeq, atLeast = 0 } = options;
  const read = () => readPage(connection, stream, filter, options);
  if (atLeast === 0) return read();
  // A replica that lags has the same messages as the leader, but not the newest ones.
  const isCurrent = async ({ messages, pending }: Page) => {
    const last = messages.at(-1)?.seq ?? 0;
    if (pending > 0 || last >= atLeast) return true;
    const next = { next_by_subj: filter, seq: Math.max(1, fromSeq, last + 1) };
    return (await leaderGet(connection, stream, next)) === null;
  };
  const page = await caughtUp(read, isCurrent);
  return page ?? leaderScan(connection, stream, filter, options, atLeast);
}

async function readPage(
  connection: Connection,
  stream: string,
  filter: string,
  options: ScanOptions,
): Promise<Page> {
  const walked = options.roughly === true ? await walk(connection, stream, filter, options) : undefined;
  if (walked !== undefined) return walked;
  const page = await batch(connection, stream, filter, options);
  remember(stream, filter, options.fromSeq, page);
  return page;
}

/** Reads a page in one request, and counts all messages that follow it. */
async function batch(
  connection: Connection,
  stream: string,
  filter: string,
  options: ScanOptions,
): Promise<Page> {
  const { fromSeq, limit: batch, maxBytes: max_bytes } = options;
  const body = JSON.stringify({ next_by_subj: filter, seq: Math.max(1, fromSeq), batch, max_bytes });
  try {
    return await collect(connection, stream, body);
  } catch (error) {
    if (!(error instanceof NoResponders)) throw error;
  }
  const { config, state } = await inspect(connection, stream);
  return config.allow_direct === true
    ? received(connection, stream, () => collect(connection, stream, body))
    : leaderScan(connection, stream, filter, options, state.last_seq);
}

const MAX_ROUNDS = 64;

const MAX_PARALLEL = 16;

/**
 * Reads a page from the stream's leader, one message per request. Starts with few parallel requests, and doubles their
 * number while all of them find a message.
 */
async function leaderScan(
  connection: Connection,
  stream: string,
  filter: string,
  { fromSeq, limit, maxBytes }: ScanOptions,
  lastSeq: number,
): Promise<Page> {
  const messages: StoredMessage[] = [];
  let seq = Math.max(1, fromSeq);
  let width = 1;
  let bytes = 0;
  for (let turn = 0; turn < MAX_ROUNDS; turn++) {
    const asked = Array.from({ length: width }, (_, ahead) =>
      leaderGet(connection, stream, { next_by_subj: filter, seq: seq + ahead }),
    );
    const before = messages.length;
    for (const message of await Promise.all(asked)) {
      if (message === null) return { messages, pending: 0, lastSeq };
      if (message.seq < seq) continue;
      if (messages.length === limit || bytes >= maxBytes) return { messages, pending: 1, lastSeq };
      messages.push(message);
      bytes += message.size;
      seq = message.seq + 1;
    }
    const found = messages.length - before;
    width = found === width ? Math.min(MAX_PARALLEL, 2 * width) : Math.max(1, found);
  }
  return { messages, pending: 1, lastSeq };
}

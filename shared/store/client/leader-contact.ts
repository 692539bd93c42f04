/**
 * Moves a long-lived connection to another broker if its own broker has lost contact with the rest of the cluster. Such
 * a broker still accepts connections and answers pings, but its replicas no longer change.
 */
import type { NatsConnection } from "nats.ws";
import { buckets, kvSubject, streams } from "../subjects.ts";
import { ApiCode } from "./codes.ts";

const EVERY_MS = 2_000;
const TIMEOUT_MS = 2_000;
/**
 * Connect to another broker after this many milliseconds without contact to the leader. An election, during which no
 * broker has contact, takes up to 7 seconds.
 */
const PATIENCE_MS = 8_000;

/**
 * Only the leader of the stream can answer this request. A broker without contact to the leader returns an error
 * after 10 to 13 seconds. No application has the id `health`, so the response is small.
 */
const REQUEST = `$JS.API.STREAM.MSG.GET.${streams.kv(buckets.orbs)}`;
const QUERY = JSON.stringify({ last_by_subj: kvSubject(buckets.orbs, "health") });
/** Error codes that prove that the leader has responded. Undefined stands for a response without an error. */
const EXPECTED: readonly (number | undefined)[] = [undefined, ApiCode.noMessage, ApiCode.streamNotFound];

/**
 * Checks every two seconds whether the connected broker can reach the leader of the stream. Useful only if there are
 * several brokers.
 */
export function keepLeaderContact(connection: NatsConnection): void {
  let lostAt: number | undefined;
  /**
   * The server that the connection has just left. If the client library connects to this server again, leave it without
   * waiting.
   */
  let left = "";
  let checking = false;
  async function check(): Promise<void> {
    const startedAt = Date.now();
    const server = connection.getServer();
    if (await hasContact(connection)) {
      lostAt = undefined;
      left = "";
      return;
    }
    lostAt ??= startedAt;
    if (server !== left && Date.now() - lostAt < PATIENCE_MS) return;
    lostAt = undefined;
    left = server;
    // The connection may have been closed while this check waited for the answer.
    if (!connection.isClosed() && !connection.isDraining()) await connection.reconnect();
  }
  const timer = setInterval(() => {
    if (checking) return;
    checking = true;
    void check().finally(() => {
      checking = false;
    });
  }, EVERY_MS);
  void connection.closed().then(() => clearInterval(timer));
}

async function hasContact(connection: NatsConnection): Promise<boolean> {
  try {
    const answer = await connection.request(REQUEST, QUERY, { timeout: TIMEOUT_MS });
    const { error } = answer.json<{ error?: { err_code: number } }>();
    return EXPECTED.includes(error?.err_code);
  } catch {
    return false;
  }
}

/**
 * Notices that the broker of a service's connection is cut off from the rest of its cluster, or no longer answers. The
 * connection itself can look alive for minutes, and the platform cannot reach the service during that time.
 */
import type { KitConnection, KitHeaders } from "./kit-types.ts";

/** Only the leader of the bucket answers this. A broker that is cut off has no way to it. */
const ASKED = "$JS.API.STREAM.INFO.KV_handlers";
const LOOK_MS = 5_000;
const PATIENCE_MS = 4_000;
/** One late answer may come from a busy machine, or from the election of a leader. */
const FAILURES = 2;
/** Moves without a pause. Clients try the broker that they leave once more, and then the others of a cluster. */
const QUICK_MOVES = 3;
/** If all brokers fail, the connection then moves on only this often. */
const MOVE_MS = 60_000;

/**
 * Makes the connection move on to another broker if two requests in a row get no answer.
 * @returns a function that ends this
 */
export function watchBroker<H extends KitHeaders>(connection: KitConnection<H>): () => void {
  if (connection.reconnect === undefined) return () => undefined;
  // Without an answer so far, the account of the service may lack the right to ask.
  let failures: number | undefined;
  let moves = 0;
  let moved = 0;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout>;
  const look = async () => {
    try {
      await connection.request(ASKED, new Uint8Array(0), { timeout: PATIENCE_MS });
      failures = 0;
      moves = 0;
    } catch {
      if (failures !== undefined) failures++;
    }
    if (stopped) return;
    const mayMove = moves < QUICK_MOVES || Date.now() - moved >= MOVE_MS;
    if (failures !== undefined && failures >= FAILURES && mayMove) {
      moves++;
      moved = Date.now();
      failures = 0;
      // It fails if the connection is closed, or already on its way to another broker.
      await connection.reconnect?.().catch(() => undefined);
    }
    if (!stopped) timer = setTimeout(() => void look(), LOOK_MS);
  };
  timer = setTimeout(() => void look(), 0);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

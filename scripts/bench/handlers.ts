/**
 * Compares a remote handler call with a bare broker request to the same service, and with a call in an orb
 * (application) that does not exist.
 */
import { connect } from "nats";
import { system } from "../../shared/access/actor.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { openStore } from "../../shared/store/broker/index.ts";
import { scriptDeps } from "../platform/deps.ts";
import { startTemporary } from "./stand.ts";

const ROUNDS = 5;
const CALLS = 300;
// The benchmark sends all calls from one network address as fast as it can, so turn quotas off.
const settings = { LOG_LEVEL: "error", QUOTA_ACCOUNT_CALLS: "0", QUOTA_ORB_CALLS: "0" };
await using started = await startTemporary(settings, console.error);
const { platform } = started;
const { user = "", pass = "" } = platform.operatorAccess;
const servers = `127.0.0.1:${platform.broker?.port}`;
const [service, client] = [await connect({ servers, user, pass }), await connect({ servers, user, pass })];
const store = openStore({ ...platform.operatorAccess, reconnect: true });

service.subscribe("svc.bench.echo", { callback: (_, message) => void message.respond(message.data) });
const entry = { name: "bench.echo", description: "", auth: "None", kind: "nats", subject: "svc.bench.echo" };
await store.kvPut("handlers", entry.name, JSON.stringify(entry));
const document = { id: "bench", uses: [{ service: "bench", handlers: ["echo"] }], modules: [] };
await createOrb(scriptDeps(store, platform.bindings), system, { document, publish: true });

const body = JSON.stringify({ text: "hello" });
const request = new TextEncoder().encode(
  JSON.stringify({ orbId: "bench", handler: "bench.echo", input: { text: "hello" }, caller: null }),
);
const ask = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(`${platform.url}${path}`, init);
  await answer.text();
  return answer.status;
};
const call = async () => {
  const headers = { "content-type": "application/json" };
  const status = await ask("/api/bench/echo", { method: "POST", body, headers });
  if (status !== 200) throw new Error(`status ${status}`);
};
const ACTS = {
  "bare request": () => client.request("svc.bench.echo", request, { timeout: 5000 }),
  "functions, unknown orb": () => ask("/api/none/x"),
  "call of a handler": call,
} satisfies Record<string, () => Promise<unknown>>;

/** Returns the median milliseconds per operation. */
async function round(act: () => Promise<unknown>, inFlight: number): Promise<number> {
  const times: number[] = [];
  let left = CALLS;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (left-- > 0) {
        const begun = performance.now();
        await act();
        times.push(performance.now() - begun);
      }
    }),
  );
  return times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
}

try {
  for (const inFlight of [1, 8]) {
    const medians = new Map<string, number[]>();
    for (let turn = 0; turn <= ROUNDS; turn++) {
      for (const [name, act] of Object.entries(ACTS)) {
        const median = await round(act, inFlight);
        // The first round only warms up.
        if (turn > 0) medians.set(name, [...(medians.get(name) ?? []), median]);
      }
    }
    const middle = (name: string) => medians.get(name)?.sort((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
    const bare = middle("bare request");
    for (const name of Object.keys(ACTS)) {
      const ms = middle(name);
      console.log(
        `${inFlight} in flight  ${name.padEnd(26)} ${ms.toFixed(2)} ms  x${(ms / bare).toFixed(1)}`,
      );
    }
  }
} finally {
  await Promise.all([service.close(), client.close(), store.close()]);
}

/** A worker that forwards calls to a store over the link, so that tests call it from another isolate. */
import { linkOf, BrokerLink as RealLink } from "../../functions/link.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Asked, type Outcome, outcomeOf, revive } from "./outcome.ts";

/** The link, which tests can abort, as a runtime does when it moves or redeploys an object. */
export class BrokerLink extends RealLink {
  reset(): void {
    this.ctx.abort("moved");
  }
}

interface Namespace {
  idFromName(name: string): object;
  get(id: object): { reset(): Promise<void> };
}

export default {
  async fetch(request: Request, env: Record<string, unknown>): Promise<Response> {
    if (new URL(request.url).pathname === "/reset") {
      const namespace = env.BROKER_LINK as Namespace;
      await namespace
        .get(namespace.idFromName("anywhere-0"))
        .reset()
        .catch(() => undefined);
      return new Response(null);
    }
    const asked = JSON.parse(await request.text(), revive) as Asked[];
    // Only batches may open a connection of their own.
    const own = asked.some(({ call }) => call === "batch") ? String(env.NATS_URL) : "ws://127.0.0.1:1";
    const access = { user: String(env.NATS_USER), pass: String(env.NATS_PASS) };
    const direct = (): Store => openStore({ url: own, ...access });
    const store = linkOf(env, { count: 1, location: undefined })?.(direct);
    if (store === undefined) throw new Error("there is no link");
    const outcomes: Outcome[] = await Promise.all(asked.map((one) => outcomeOf(store, one)));
    await store.close();
    return Response.json(outcomes);
  },
};

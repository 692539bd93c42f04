/** A worker whose requests are calls of a store over the link: what a test asks for is asked from another isolate. */
import { linkOf, BrokerLink as RealLink } from "../../functions/link.ts";
import { openStore } from "../../shared/store/store.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Asked, type Outcome, outcomeOf, revive } from "./outcome.ts";

/** The link itself, which can be made to go as a runtime makes it go that moves it, or deploys it anew. */
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
    const nobody = (): Store => openStore({ url: "ws://127.0.0.1:1" });
    const store = linkOf(env, { count: 1, location: undefined })?.(nobody);
    if (store === undefined) throw new Error("there is no link");
    const outcomes: Outcome[] = await Promise.all(asked.map((one) => outcomeOf(store, one)));
    await store.close();
    return Response.json(outcomes);
  },
};

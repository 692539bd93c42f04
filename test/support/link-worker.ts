/** A worker whose requests are calls of a store over the link: what a test asks for is asked from another isolate. */
import { linkOf } from "../../functions/link.ts";
import { openStore } from "../../shared/store/store.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Asked, type Outcome, outcomeOf, revive } from "./outcome.ts";

export { BrokerLink } from "../../functions/link.ts";

export default {
  async fetch(request: Request, env: Record<string, unknown>): Promise<Response> {
    const asked = JSON.parse(await request.text(), revive) as Asked[];
    const nobody = (): Store => openStore({ url: "ws://127.0.0.1:1" });
    const store = linkOf(env, { count: 1, location: undefined })?.(nobody);
    if (store === undefined) throw new Error("there is no link");
    const outcomes: Outcome[] = await Promise.all(asked.map((one) => outcomeOf(store, one)));
    await store.close();
    return Response.json(outcomes);
  },
};

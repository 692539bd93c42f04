/** Takes an entry out of a change set, with its pending version. */
import { actorId } from "../../access/actor.ts";
import type { Principal } from "../../access/authorize.ts";
import { requireWhole } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { GONE_SECONDS, guard, type OrbContext } from "../../entry/model/index.ts";
import { notFound } from "../../kernel/errors.ts";
import { counted } from "../../quotas/write.ts";
import { untilWritten } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { contextIn } from "../definition/index.ts";
import { editing } from "../record/index.ts";
import { addressOfItem, contentMessage } from "./content.ts";
import { withItem } from "./pend.ts";
import { releaseNew } from "./release.ts";
import { SetView } from "./view.ts";

/** @throws AppError not_found `entry_not_found` if the set does not contain the entry */
export async function takeOut(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  { set, entry }: { set: string; entry: string },
): Promise<void> {
  const { orb } = context;
  requireWhole(orb, context.fence);
  const within = await contextIn(deps, context, set);
  const view = await SetView.open(deps, context, caller, set, "write");
  const remove = async () => {
    const item = view.items.get(entry);
    if (item === undefined) throw notFound("entry", "The change set does not contain this entry.");
    const { record, content } = view;
    const address = addressOfItem(orb, item);
    const next = withItem(content.content, entry, undefined, actorId(caller.actor));
    const messages = [
      contentMessage(orb, set, next, content.seq),
      { subject: subjects.changeVersion(set, address), data: "", rollup: true, ttl: GONE_SECONDS },
    ];
    const edit = editing(deps, caller.actor, orb, record);
    try {
      const all = guard(address, [...edit.messages, ...messages], edit.guards);
      await deps.store.batch(streams.orb(orb), all);
      return address;
    } catch (error) {
      await view.renew();
      throw error;
    }
  };
  const address = await counted(deps, caller.actor, orb, () => untilWritten(remove));
  await releaseNew(deps, within, [address]);
}

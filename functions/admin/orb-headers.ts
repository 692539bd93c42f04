import type { Context } from "hono";
import type { ExistingOrb } from "../../shared/definition/stored/index.ts";
import { isReplayed } from "../../shared/orb/idempotency.ts";
import { orbView } from "../../shared/orb/view.ts";
import { revisionTag, withVariant } from "../http/etag.ts";
import type { AppEnv } from "../request/context.ts";

export function orbAnswer(c: Context<AppEnv>, orb: ExistingOrb) {
  orbHeaders(c, orb);
  return orbView(orb);
}

export function orbHeaders(
  c: Context<AppEnv>,
  orb: ExistingOrb,
  newest = orb.revision,
  variant?: string,
): string {
  const etag = withVariant(revisionTag(newest), variant);
  c.header("etag", etag);
  c.header("cache-control", "private, no-cache");
  if (isReplayed(orb)) c.header("idempotent-replayed", "true");
  return etag;
}

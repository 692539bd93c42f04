import { z } from "@hono/zod-openapi";
import type { PlatformOperation } from "../../shared/access/credentials/index.ts";
import { archiveOrb, publishOrb, restoreOrb, tryPublish, unpublishOrb } from "../../shared/orb/operate.ts";
import { ifMatch } from "../http/etag.ts";
import { idempotencyOf } from "../http/idempotency.ts";
import { type AdminPrefix, adminRoute } from "../http/prefixes.ts";
import { defineRoute, type Router } from "../http/router.ts";
import { json, OrbIdParam, Replayed, RevisionTag, WriteHeaders } from "../http/schemas.ts";
import { changesRights } from "../middleware/origin.ts";
import { orbAnswer } from "./orb-answers.ts";
import { DryRunFlag, ForceFlag, OrbSchema, outcome } from "./orbs-schemas.ts";

export function addLifecycle(router: Router, prefix: AdminPrefix): void {
  const shared = (operation: PlatformOperation) => adminRoute(prefix, operation);
  const one = `${prefix}/{orbId}` as const;

  const publish = defineRoute({
    ...changesRights(shared("orbs.write")),
    method: "post",
    path: `${one}/publish` as const,
    operationId: "publishOrb",
    summary: "Publish the newest revision of an orb",
    request: {
      params: OrbIdParam,
      headers: WriteHeaders,
      query: z.strictObject({ dryRun: DryRunFlag, force: ForceFlag }),
    },
    responses: {
      200: outcome({
        ...RevisionTag,
        ...Replayed,
      }),
    },
    problems: [400, 401, 403, 404, 409, 412, 422],
  });
  router.openapi(publish, async (c) => {
    const { dryRun, force } = c.req.valid("query");
    const input = {
      orb: c.req.valid("param").orbId,
      ifMatch: ifMatch(c.req.header("if-match")),
      force,
      idempotency: idempotencyOf(c),
    };
    if (dryRun === true) return c.json(await tryPublish(c.var.deps, c.var.actor, input), 200);
    const orb = await publishOrb(c.var.deps, c.var.actor, input);
    return c.json(orbAnswer(c, orb), 200);
  });

  const moves = [
    { name: "unpublish", summary: "Unpublish an orb", verb: unpublishOrb },
    { name: "archive", summary: "Archive an orb", verb: archiveOrb },
    { name: "restore", summary: "Restore an archived orb as unpublished", verb: restoreOrb },
  ] as const;
  for (const { name, summary, verb } of moves) {
    const move = defineRoute({
      ...shared("orbs.write"),
      method: "post",
      path: `${one}/${name}`,
      operationId: `${name}Orb`,
      summary,
      request: {
        params: OrbIdParam,
        headers: WriteHeaders,
      },
      responses: { 200: json("The orb", OrbSchema, { ...RevisionTag, ...Replayed }) },
      problems: [400, 401, 403, 404, 409, 412, 422],
    });
    router.openapi(move, async (c) => {
      const { orbId } = c.req.valid("param");
      const orb = await verb(c.var.deps, c.var.actor, {
        orb: orbId,
        ifMatch: ifMatch(c.req.header("if-match")),
        idempotency: idempotencyOf(c),
      });
      return c.json(orbAnswer(c, orb), 200);
    });
  }
}

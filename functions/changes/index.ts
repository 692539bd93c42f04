import type { MiddlewareHandler } from "hono";
import { principalIn } from "../../shared/access/authorize.ts";
import type { ChangeOperation } from "../../shared/access/credentials/index.ts";
import { requireSome } from "../../shared/changes/record/index.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import { hidesChanges } from "../../shared/orb/routes.ts";
import { definition } from "../admin/entry-schemas.ts";
import { orbFamily } from "../http/orb-family.ts";
import { entryRoute, PREFIXES, scopesFor } from "../http/prefixes.ts";
import { newRouter } from "../http/router.ts";
import { ANY_SESSION } from "../http/schemas.ts";
import type { AppEnv } from "../request/context.ts";
import { addContentRoutes } from "./content.ts";
import type { ChangeRoutes } from "./place.ts";
import { addChangeRoutes } from "./routes.ts";

/** Returns the tag under which the description of the API lists an operation. */
function tagOf(operation: ChangeOperation): "change sets" | "change sets, review" {
  return operation === "changes.approve" || operation === "changes.comment"
    ? "change sets, review"
    : "change sets";
}

function addRoutes(place: ChangeRoutes): void {
  addChangeRoutes(place);
  addContentRoutes(place);
}

/** The routes of the management API. */
export function adminChangeRoutes() {
  const router = newRouter();
  for (const prefix of PREFIXES) {
    addRoutes({
      prefix,
      suffix: "",
      common: (operation) => ({
        ...entryRoute(prefix, operation),
        tags: [tagOf(operation).replace("c", "C")],
      }),
      inOrb: (c) => {
        const orbId = c.req.param("orbId") ?? "";
        return { orbId, orb: definition(c, orbId) };
      },
      router,
    });
  }
  return router;
}

/** The routes of published applications. An application's module or handler named `changes` takes their place. */
export function orbChanges() {
  const { router, handedTo, answer } = orbFamily(hidesChanges);
  /** Admits only callers who may perform the operation on some set, before the body is checked. */
  const allowed =
    (operation: ChangeOperation): MiddlewareHandler<AppEnv> =>
    async (c, next) => {
      const { orb, compiled } = handedTo(c);
      requireSome(principalIn(c.var.actor, orb, compiled), compiled, operation);
      await next();
    };
  addRoutes({
    prefix: "/api",
    suffix: "Of",
    common: (operation) => ({
      tags: [tagOf(operation)],
      security: ANY_SESSION,
      "x-role": "user",
      ...scopesFor(operation),
      middleware: [allowed(operation)],
    }),
    inOrb: (c) => {
      const live = handedTo(c);
      return { orbId: live.orb, orb: live, renew: () => requireLive(c.var.deps, live.orb) };
    },
    router,
  });

  return { router, answer };
}

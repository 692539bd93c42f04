/** The header `Orb-Definition`, by which a request names a revision of an orb's definition. */
import type { Context, MiddlewareHandler } from "hono";
import { type LiveOrb, lossHeaders } from "../../shared/definition/live-orb.ts";
import { type PinnedOrb, shapeHeaders } from "../../shared/entry/pinned/index.ts";
import { AppError, invalidParameters } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";

export const isDefinitionHeader = (text: string): boolean => /^[1-9]\d{0,8}$/.test(text);

/** Returns the revision that the header names. Undefined without the header. */
export function definitionOf(c: Context<AppEnv>): number | undefined {
  const text = c.req.header("orb-definition");
  if (text === undefined) return undefined;
  if (isDefinitionHeader(text)) return Number(text);
  throw new AppError(
    "malformed",
    "invalid_header",
    "Orb-Definition must be the number of a published revision of the orb's definition, such as 12.",
  );
}

/** @throws AppError malformed if the request has a query parameter that does not take the header */
export function requireTakenWith(c: Context<AppEnv>): void {
  if (c.req.query("explain") === undefined) return;
  const message =
    "must not be used together with the header Orb-Definition, because it describes the indexes of the current definition";
  throw invalidParameters([{ path: "/explain", code: "not_applicable", message }]);
}

/** Sets the headers that all responses to a request in the shape of an earlier revision have. */
export function showShape(c: Context<AppEnv>, live: LiveOrb, pinned: PinnedOrb): void {
  c.set("lossHeaders", { ...lossHeaders(live.fence?.loss), ...shapeHeaders(pinned) });
}

const ELSEWHERE =
  "Orb-Definition is only for requests about the entries of an orb. This request has only the current shape. Send it without the header.";
/** Why requests that show values do not take the header. */
export const NO_SHAPE = {
  handler:
    "Orb-Definition has no meaning for a handler: its service decides what it takes and answers, whatever the orb's definition is. Send the call without the header.",
  search:
    "Orb-Definition has no meaning for a search of all schemas, which shows pieces of texts. Search the list of one schema with it.",
  stream:
    "Orb-Definition has no meaning for a stream, which sends the same messages to all readers. Follow a list with live=sse, which takes the header.",
} as const;

/** Error 400: the header has no meaning for a request. */
export const refuseDefinition = (why: string = ELSEWHERE): AppError =>
  new AppError("malformed", "invalid_header", why);

/** Paths whose routes decide themselves whether they take the header. */
const TAKING = /^\/api\/(openapi|discovery|(admin\/orbs|_orbs)\/[^/]+\/(entries(\/.*)?|batch))$/;

const STREAMS = /^\/api\/streams(\/|$)/;

/** Rejects the header where no route takes it. */
export const withoutDefinitionElsewhere: MiddlewareHandler<AppEnv> = (c, next) => {
  if (STREAMS.test(c.req.path)) requireNoDefinition(c, NO_SHAPE.stream);
  return TAKING.test(c.req.path) ? next() : withoutDefinition(c, next);
};

/** Rejects the header on routes that do not take it. */
export const withoutDefinition: MiddlewareHandler<AppEnv> = (c, next) => {
  requireNoDefinition(c);
  return next();
};

/** @throws AppError malformed if a request has the header, which its route does not take */
export function requireNoDefinition(c: Context<AppEnv>, why?: string): void {
  if (c.req.header("orb-definition") !== undefined) throw refuseDefinition(why);
}

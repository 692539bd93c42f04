/** Errors for callers that lack access. `authorize.ts` decides which callers have access. */
import { AppError } from "../kernel/errors.ts";
import { type Actor, accountBehind, type HandlerActor, type Role } from "./actor.ts";

/** A role that an error message can name as required. */
export type Needed = Exclude<Role, "public"> | "platform admin";

/**
 * Returns the error for a caller that lacks access: 401 if signing in could give access, otherwise 403.
 * @param needed the least powerful built-in role that has access, if known
 * @param others roles defined by the application that have access too
 */
export function refusal(actor: Actor, needed?: Needed, others: readonly string[] = []): AppError {
  if (accountBehind(actor).kind === "anonymous") {
    const as = needed === "platform admin" ? " as a platform admin" : "";
    return new AppError("unauthenticated", "authentication_required", `This needs you to be signed in${as}.`);
  }
  const why =
    needed === undefined
      ? ""
      : needed === "platform admin"
        ? " It is for platform admins."
        : ` It needs the role ${[...others, needed].join(" or ")}.`;
  return new AppError("forbidden", "forbidden", `You may not do this.${why}`);
}

/**
 * Returns the error for a valid token of a realm (set of accounts) that the route does not accept. The status is 403,
 * because clients react to 401 by signing out the user.
 */
export function realmRefusal(realm: string, accepted: readonly string[]): AppError {
  const names = accepted.length === 0 ? "another realm" : `the realm ${accepted.join(" or ")}`;
  const detail = `The token is valid, but it is of the realm ${realm}. Send a token of ${names}.`;
  return new AppError("forbidden", "other_realm", detail);
}

/** Returns the error for a handler that acts for its caller and needs a permission (act) which it does not have. */
export function missingAct(handler: string, act: string): AppError {
  const detail = `The handler ${handler} is not granted the act ${act}. Request it in acts of the handler's registration, and grant it in uses of the orb's document.`;
  return new AppError("forbidden", "missing_act", detail);
}

/**
 * Returns the error for an operation that the access rule allows only to certain handlers. The status is 403, because
 * signing in would not help.
 */
export function handlersOnly(handlers: readonly string[]): AppError {
  const detail = `Only handlers may do this for their callers. Call ${handlers.join(" or ")} instead.`;
  return new AppError("forbidden", "handlers_only", detail);
}

/** Returns the error for a handler that decides about a review, which only an account itself may do. */
export function peopleOnly(): AppError {
  const detail =
    "A handler may not approve or reject a change set for its caller. Send the request with the caller's own session or API token.";
  return new AppError("forbidden", "people_only", detail);
}

/**
 * Returns the error for a credential that cannot be used here: a handler's credential is valid only for the entries
 * and handlers of its application, and not in a browser.
 */
export function handlerRefusal({ handler, orb }: Pick<HandlerActor, "handler" | "orb">): AppError {
  const detail = `The credential of the handler ${handler} is valid only for the entries and the built-in handlers of the orb ${orb}, and only from its service. Send another token.`;
  return new AppError("forbidden", "handler_credential", detail);
}

/**
 * Returns the error for an API token that is pinned to a revision of a definition, on a route that cannot show or take
 * the shape of that revision.
 */
export function pinnedRefusal(revision: number): AppError {
  const detail = `The API token sees revision ${revision} of the orb's definition, and this request only has the current one. Send a token without definition.`;
  return new AppError("forbidden", "pinned_token", detail);
}

/** Returns the error for a request that names another revision than the one to which its API token is pinned. */
export function otherRevision(revision: number): AppError {
  const detail = `The API token sees only revision ${revision} of the orb's definition. Send the request without Orb-Definition.`;
  return new AppError("forbidden", "pinned_token", detail);
}

/** Returns the error for the token of a preview link on a route that does not show the link's entry to its holder. */
export function previewRefusal(): AppError {
  const detail =
    "The token of a preview link is valid only for reading the entries of its orb. Send the request without it, or send another token.";
  return new AppError("forbidden", "preview_link", detail);
}

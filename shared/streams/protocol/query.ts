import { AppError, invalidParameters } from "../../kernel/errors.ts";
import { escapeSegment, Faults, knownParameters } from "../../kernel/faults.ts";
import { EVENT_NAMES } from "./events.ts";
import { parseOffset, type Start } from "./offset.ts";

/** How a client reads a stream. The Durable Streams protocol defines all of these modes except `events`. */
export type Mode = "events" | "catch-up" | "long-poll" | "sse";

export interface Query {
  mode: Mode;
  start: Start;
  /** The cursor from the previous response. */
  cursor: string | undefined;
  /** Name of the events that carry messages. */
  event: (typeof EVENT_NAMES)[number];
}

function malformed(code: string, detail: string): AppError {
  return new AppError("malformed", code, detail);
}

/** Returns the value of a query parameter. Throws 400 if it is repeated. */
export function single(params: URLSearchParams, name: string): string | undefined {
  const values = params.getAll(name);
  if (values.length > 1)
    throw malformed("repeated_parameter", `The parameter ${name} is repeated. Send it once.`);
  return values[0];
}

/**
 * Rejects unknown query parameters and values.
 * @param known the allowed values by name; null allows any value
 */
export function requireKnownParameters(
  params: URLSearchParams,
  known: Readonly<Record<string, readonly string[] | null>>,
): void {
  const faults = new Faults();
  for (const name of new Set(params.keys())) {
    const at = `/${escapeSegment(name)}`;
    const allowed = Object.hasOwn(known, name) ? known[name] : undefined;
    if (allowed === undefined) faults.add(at, "unknown_parameter", knownParameters(Object.keys(known)));
    else if (allowed !== null && !allowed.includes(params.getAll(name).join("&")))
      faults.add(at, "enum", `must be one of: ${allowed.join(", ")}`);
  }
  const errors = faults.list();
  if (errors.length === 0) return;
  throw invalidParameters(errors);
}

/**
 * Parses the query parameters of a stream request. Ignores unknown ones, as the protocol requires.
 * @param lastEventId the header with which a browser's EventSource resumes
 */
export function parseQuery(params: URLSearchParams, lastEventId: string | undefined): Query {
  const offset = single(params, "offset");
  const live = single(params, "live");
  const cursor = single(params, "cursor");
  const named = single(params, "event");
  const event = EVENT_NAMES.find((name) => name === (named ?? "data"));
  if (event === undefined)
    throw malformed("invalid_event", `The parameter event must be ${EVENT_NAMES.join(" or ")}.`);
  if (named !== undefined && offset !== undefined && live !== "sse")
    throw malformed(
      "invalid_event",
      "The parameter event names server-sent events. Add live=sse, or leave out offset or event.",
    );
  if (live !== undefined && live !== "sse" && live !== "long-poll")
    throw malformed(
      "invalid_live",
      "The parameter live must be sse or long-poll. Leave it out to read without waiting.",
    );
  if (offset === undefined) {
    if (live !== undefined)
      throw malformed(
        "offset_required",
        `live=${live} needs the parameter offset: -1 (start), now (end), or an offset from an earlier response.`,
      );
    const start = lastEventId === undefined || lastEventId === "" ? undefined : parseOffset(lastEventId);
    return { mode: "events", start: start ?? { at: "beginning" }, cursor, event };
  }
  const start = parseOffset(offset);
  // An EventSource reconnects to its original URL and sends its newest position in a header, so the header takes
  // precedence.
  if (live === "sse" && lastEventId !== undefined && lastEventId !== "")
    return { mode: "sse", start: parseOffset(lastEventId), cursor, event };
  return { mode: live ?? "catch-up", start, cursor, event };
}

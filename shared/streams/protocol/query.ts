/** What a request for a stream asks for. */
import { AppError } from "../../kernel/errors.ts";
import { escapeSegment, Faults, knownParameters } from "../../kernel/faults.ts";
import { parseOffset, type Start } from "./offset.ts";

/**
 * How the stream is read. `events` is the platform's own form (one JSON object per event), `sse` the protocol's
 * (a JSON array per event).
 */
export type Mode = "events" | "catch-up" | "long-poll" | "sse";

export interface Query {
  mode: Mode;
  start: Start;
  /** The cursor that the client got last. */
  cursor: string | undefined;
}

function malformed(code: string, detail: string): AppError {
  return new AppError("malformed", code, detail);
}

/**
 * A parameter's only value.
 * @throws AppError malformed when it is repeated
 */
export function single(params: URLSearchParams, name: string): string | undefined {
  const values = params.getAll(name);
  if (values.length > 1) throw malformed("repeated_parameter", `The parameter ${name} may be given once.`);
  return values[0];
}

/**
 * Refuses parameters that an address does not take, in the words of the functions' routes. Not for a stream itself: see
 * {@link parseQuery}.
 * @param known by name the values that a parameter may have; null for any
 * @throws AppError malformed `invalid_parameter` with every fault
 */
export function takeOnly(
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
  throw new AppError("malformed", "invalid_parameter", "A parameter of the request is not valid.", {
    errors,
  });
}

/**
 * Reads the protocol's parameters; others are ignored, as the protocol demands.
 * @param lastEventId the header by which an EventSource resumes; counts only without an offset
 * @throws AppError malformed
 */
export function parseQuery(params: URLSearchParams, lastEventId: string | undefined): Query {
  const offset = single(params, "offset");
  const live = single(params, "live");
  const cursor = single(params, "cursor");
  if (live !== undefined && live !== "sse" && live !== "long-poll")
    throw malformed("invalid_live", "The parameter live must be sse or long-poll.");
  if (offset === undefined) {
    if (live !== undefined)
      throw malformed("offset_required", `live=${live} needs an offset: -1, now, or one that was given out.`);
    const start = lastEventId === undefined || lastEventId === "" ? undefined : parseOffset(lastEventId);
    return { mode: "events", start: start ?? { at: "beginning" }, cursor };
  }
  const start = parseOffset(offset);
  // An EventSource that reconnects asks for its first address again, and says in a header how far it got.
  if (live === "sse" && lastEventId !== undefined && lastEventId !== "")
    return { mode: "sse", start: parseOffset(lastEventId), cursor };
  return { mode: live ?? "catch-up", start, cursor };
}

/** Server-sent events of live lists: lists whose changes a client receives while it stays connected. */
import type { ListEvent } from "../../entry/live/index.ts";

const encoder = new TextEncoder();

/** The reason why the platform ended a live list. The client then reconnects, and gets a new snapshot or an error. */
export type EndReason = "definition_changed" | "access_changed" | "history_lost";

function sent(name: string, data: unknown, id: string | undefined): Uint8Array {
  const line = id === undefined ? "" : `id:${id}\n`;
  return encoder.encode(`event: ${name}\ndata:${JSON.stringify(data)}\n${line}\n`);
}

/**
 * Returns the server-sent event for a change of a list.
 * @param id undefined in a snapshot, because a client cannot resume in the middle of a snapshot
 */
export function listEvent(event: ListEvent, id: string | undefined): Uint8Array {
  return event.type === "upsert" ? sent("upsert", event.entry, id) : sent("leave", { id: event.id }, id);
}

/** The event that begins a snapshot (the complete list). Its empty id makes an EventSource forget its position. */
export const RESET = sent("reset", {}, "");

/** Tells the client that the snapshot is complete. */
export const readyEvent = (id: string) => sent("ready", {}, id);

export const endEvent = (reason: EndReason) => sent("end", { reason }, "");

/** A comment that keeps the connection open while the platform is still searching for entries of a snapshot. */
export const STILL_READING = encoder.encode(": reading\n\n");

/** Returns a comment that updates the client's position without an event, and keeps an idle connection open. */
export const positionLine = (id: string) => encoder.encode(`: heartbeat\nid:${id}\n\n`);

/**
 * Returns the line that sets the reconnection time.
 * @param ms milliseconds after which an EventSource reconnects
 */
export const retryLine = (ms: number) => encoder.encode(`retry:${Math.round(ms)}\n\n`);

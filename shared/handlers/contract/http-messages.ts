/**
 * Messages between the platform and a service that handles HTTP requests. The platform asks and the service replies, so
 * a service needs no rights beyond those to reply. A body that does not fit into one message is sent in parts.
 */
import type { Caller, HandlerCredential } from "./types.ts";

/** The first message about a request. */
export interface HttpRequestMessage {
  orbId: string;
  handler: string;
  method: string;
  /** Below the handler's own path, as the client encoded it: empty, or beginning with a slash. */
  path: string;
  /** Without the question mark, as the client encoded it. */
  query: string;
  /** Names are in lower case. */
  headers: Record<string, string>;
  /** Base64, or null if there is no body. */
  body: string | null;
  caller: Caller | null;
  /** Missing if the orb grants the handler no act. */
  credential?: HandlerCredential;
  /** The body continues in further messages. */
  more?: true;
}

/** A further message: the next part of the request's body, a request for the next part of the response, or the end. */
export interface HttpPartMessage {
  body: string | null;
  more: boolean;
  /** The client has gone. No further message follows. */
  cancel?: true;
}

/** The reply of a service to the first message, and to each part of a request's body. */
export interface HttpReplyMessage {
  /** Missing while the service waits for the rest of the request's body. */
  status?: number;
  headers?: Record<string, string>;
  /** Base64, or null. */
  body?: string | null;
  /**
   * Bytes of the whole body, in a reply with a status and `next`. The client gets it as Content-Length, and so can tell
   * whether the body is complete.
   */
  length?: number;
  /**
   * Tokens that follow the handler's subject. The platform sends the next message there, so that the same instance
   * gets it. Missing in the last reply.
   */
  next?: string;
}

export const NEXT = /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,3}$/;

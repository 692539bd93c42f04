/**
 * Messages between the platform and a service that handles HTTP requests. The service only replies to the platform's
 * requests. So it needs no broker permissions except to subscribe and reply. A body that is too large for one message
 * is sent in parts.
 */
import type { Caller, HandlerCredential } from "./types.ts";

/** The first message that the platform sends to a service for an HTTP request. */
export interface HttpRequestMessage {
  orbId: string;
  handler: string;
  method: string;
  /**
   * The path that follows the handler's own path, percent-encoded as the client sent it. Either empty or starts with
   * a slash.
   */
  path: string;
  /** The query string without the question mark, percent-encoded as the client sent it. */
  query: string;
  /** Header names are in lower case. */
  headers: Record<string, string>;
  /** The body, or its first part, as base64. Null if there is no body. */
  body: string | null;
  caller: Caller | null;
  /** Missing if the application does not allow the handler to do anything on behalf of the caller. */
  credential?: HandlerCredential;
  /** Set if further messages with more of the body follow. */
  more?: true;
}

/**
 * A later message about the same request. It carries the next part of the request's body, asks for the next part of the
 * response's body, or cancels the request.
 */
export interface HttpPartMessage {
  body: string | null;
  more: boolean;
  /**
   * Set if the platform ends the exchange early, for example because the client disconnected. No further message
   * follows.
   */
  cancel?: true;
}

/** The service's reply to each message about a request. */
export interface HttpReplyMessage {
  /** Missing while the service is waiting for more of the request's body. */
  status?: number;
  headers?: Record<string, string>;
  /** The body, or its next part, as base64. Null if there is none. */
  body?: string | null;
  /**
   * Bytes of the whole body. Required in a reply that has both `status` and `next`. The platform sends the number as
   * Content-Length, so that the client can detect an incomplete body.
   */
  length?: number;
  /**
   * The platform appends this text to the handler's subject to get the subject of its next message. That message must
   * reach the same instance of the service. Missing in the last reply.
   */
  next?: string;
}

export const NEXT = /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,3}$/;

import type { Fault } from "../../kernel/errors.ts";
import { type KitCall, ServiceError } from "./kit-types.ts";

/** Calls the application's API with the credential that a service received with a call. */
export async function callApi(
  { credential, requestId, traceparent }: Pick<KitCall, "credential" | "requestId" | "traceparent">,
  method: string,
  path: string,
  body: unknown,
): Promise<unknown> {
  if (credential === undefined)
    throw new Error("the orb grants this handler nothing. Grant acts in uses of its document.");
  const response = await fetch(`${credential.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${credential.token}`,
      ...(requestId === undefined ? {} : { "X-Request-Id": requestId }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = response.status === 204 ? undefined : await response.json();
  if (response.ok) return answer;
  const { detail = `The platform answered ${response.status}.`, code, errors } = answer as Problem;
  throw new ServiceError(response.status, detail, {
    ...(code === undefined ? {} : { code }),
    ...(errors === undefined ? {} : { errors }),
  });
}

interface Problem {
  detail?: string;
  code?: string;
  errors?: Fault[];
}

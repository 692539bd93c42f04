import { Authenticator, type Deviations } from "./authenticator.ts";
import type { TestPlatform } from "./platform.ts";

/** Somebody who is signed in, and the authenticator to sign in again. */
export interface SignedIn {
  token: string;
  authenticator: Authenticator;
  /** The account's id. */
  id: string;
  /** `{ authorization: "Bearer …" }`. */
  headers: { authorization: string };
}

/** Where requests go. */
type Host = Pick<TestPlatform, "origin">;

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
  headers: Headers;
}

/**
 * Sends a request; one that may be repeated is sent again where its connection was closed under it. The runtime closes
 * idle connections after five seconds, and a busy test may notice that late (RFC 9110, section 9.2.2, as browsers do).
 */
async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    const code =
      error instanceof TypeError ? (error.cause as { code?: string } | undefined)?.code : undefined;
    const repeatable = init.method !== "POST" || new Headers(init.headers).has("idempotency-key");
    if (!repeatable || (code !== "ECONNRESET" && code !== "UND_ERR_SOCKET")) throw error;
    return fetch(url, init);
  }
}

/**
 * One request; a body that is given is sent as JSON, and the answer's is parsed.
 * @param options.once never sends it again by itself
 */
export async function call(
  platform: Host,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string>; token?: string; once?: boolean } = {},
): Promise<Answer> {
  const { body, headers, token } = options;
  const response = await (options.once === true ? fetch : send)(`${platform.origin}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return {
    status: response.status,
    body: isJson && text !== "" ? JSON.parse(text) : text,
    headers: response.headers,
  };
}

/** The account that a token is of. */
export function subjectOf(token: string): string {
  const payload = token.split(".")[1] ?? "";
  return (JSON.parse(Buffer.from(payload, "base64url").toString()) as { sub: string }).sub;
}

function signedIn(token: string, authenticator: Authenticator): SignedIn {
  return { token, authenticator, id: subjectOf(token), headers: { authorization: `Bearer ${token}` } };
}

/** `/api/_auth` answers and asks in another form than the realms of users. */
const isPlatform = (base: string) => base === "/api/_auth";

/** Begins a ceremony in either form. */
export async function begin(
  platform: Host,
  base: string,
  options: { invite?: string; body?: unknown; token?: string } = {},
): Promise<{ answer: Answer; sessionId: string; publicKey: unknown }> {
  const query = options.invite === undefined ? "" : `?invite=${options.invite}`;
  const answer = await call(platform, "POST", `${base}/passkey/begin${query}`, {
    ...(options.body === undefined ? {} : { body: options.body }),
    ...(options.token === undefined ? {} : { token: options.token }),
  });
  const body = answer.body ?? {};
  return {
    answer,
    sessionId: body.sessionId ?? "",
    publicKey: isPlatform(base) ? body.options?.publicKey : body.publicKey,
  };
}

/** Completes a ceremony in either form. */
export function complete(
  platform: Host,
  base: string,
  sessionId: string,
  response: { response: object },
  headers: Record<string, string> = {},
): Promise<Answer> {
  if (!isPlatform(base)) {
    return call(platform, "POST", `${base}/passkey/complete`, {
      body: response,
      headers: { SessionID: sessionId, ...headers },
    });
  }
  const part = "attestationObject" in response.response ? "credential" : "assertion";
  return call(platform, "POST", `${base}/passkey/complete`, {
    body: { sessionId, [part]: response },
    headers,
  });
}

/** Registers with an invitation at a realm's routes (`/api/_auth`, `/api/auth`, `/api/<orb>`). */
export async function register(
  platform: Host,
  base: string,
  invite: string,
  authenticator = new Authenticator(platform.origin),
): Promise<SignedIn> {
  const { answer, sessionId, publicKey } = await begin(platform, base, { invite });
  if (answer.status !== 200)
    throw new Error(`begin answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  const done = await complete(platform, base, sessionId, authenticator.create(publicKey));
  if (done.status !== 200) throw new Error(`complete answered ${done.status}: ${JSON.stringify(done.body)}`);
  return signedIn(done.body.token, authenticator);
}

/** Signs in with a passkey of the authenticator. */
export async function signIn(
  platform: Host,
  base: string,
  authenticator: Authenticator,
  deviate: Deviations = {},
): Promise<SignedIn> {
  const { sessionId, publicKey } = await begin(platform, base);
  const done = await complete(platform, base, sessionId, authenticator.get(publicKey, deviate));
  if (done.status !== 200) throw new Error(`complete answered ${done.status}: ${JSON.stringify(done.body)}`);
  return signedIn(done.body.token, authenticator);
}

const admins = new WeakMap<TestPlatform, Promise<SignedIn>>();

/** The platform's first admin, who registers with the bootstrap invitation when he is first asked for. */
export function admin(platform: TestPlatform): Promise<SignedIn> {
  let known = admins.get(platform);
  if (known === undefined) {
    known = (async () => {
      const { body } = await call(platform, "GET", "/api/_auth/invitations");
      return register(platform, "/api/_auth", body[0].token);
    })();
    admins.set(platform, known);
  }
  return known;
}

/** For tests that registered the first admin otherwise: {@link admin} is whoever registers with this invitation. */
export async function forgetAdmin(platform: TestPlatform, invite: string): Promise<void> {
  admins.set(platform, register(platform, "/api/_auth", invite));
  await admins.get(platform);
}

/** A platform admin's token: `await adminToken(platform)`. */
export async function adminToken(platform: TestPlatform): Promise<string> {
  return (await admin(platform)).token;
}

/**
 * A new user of a realm, invited by the platform's admin.
 * @param realm `auth` for the shared realm, or the id of a live orb that uses the service `access`
 */
export async function user(
  platform: TestPlatform,
  realm = "auth",
  role: "owner" | "admin" | "user" = "user",
): Promise<SignedIn> {
  const { body, status } = await call(platform, "POST", `/api/${realm}/invitations`, {
    token: await adminToken(platform),
    body: { role },
  });
  if (status !== 201) throw new Error(`inviting answered ${status}: ${JSON.stringify(body)}`);
  return register(platform, `/api/${realm}`, body.token);
}

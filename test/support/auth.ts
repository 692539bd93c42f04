import { Authenticator, type Deviations } from "./authenticator.ts";
import type { TestPlatform } from "./platform.ts";
import { type Received, sendRequest } from "./request.ts";

/** A signed-in account and its authenticator. */
export interface SignedIn {
  token: string;
  authenticator: Authenticator;
  /** The account's id. */
  id: string;
  /** Request headers for the account: `{ authorization: "Bearer …" }`. */
  headers: { authorization: string };
}

/** Characters of a body that is parsed only when a test reads it. Parsing takes longer than receiving it. */
const LARGE = 1_000_000;

/** The platform to which requests go. */
type Host = Pick<TestPlatform, "origin">;

interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect responses of every shape.
  body: any;
  headers: Headers;
}

/**
 * Sends a request. Repeats an idempotent request if the connection was closed: the runtime closes idle connections
 * after five seconds, and a busy test may notice this late (RFC 9110, section 9.2.2).
 */
async function send(...given: Parameters<typeof sendRequest>): Promise<Received> {
  try {
    return await sendRequest(...given);
  } catch (error) {
    const [, method, headers] = given;
    const repeatable = method !== "POST" || new Headers(headers).has("idempotency-key");
    const { code } = error as NodeJS.ErrnoException;
    if (!repeatable || (code !== "ECONNRESET" && code !== "EPIPE")) throw error;
    return sendRequest(...given);
  }
}

/**
 * Sends one request with an optional JSON body and parses the response.
 * @param options.once never repeats the request
 */
export async function call(
  platform: Host,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string>; token?: string; once?: boolean } = {},
): Promise<Answer> {
  const { body, token } = options;
  const { status, headers, text } = await (options.once === true ? sendRequest : send)(
    `${platform.origin}${path}`,
    method,
    {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...options.headers,
    },
    body === undefined ? undefined : JSON.stringify(body),
  );
  const isJson = headers.get("content-type")?.includes("json") === true;
  const parse = () => (isJson && text !== "" ? JSON.parse(text) : text);
  if (text.length < LARGE) return { status, body: parse(), headers };
  return {
    status,
    get body() {
      return parse();
    },
    headers,
  };
}

/** Returns the account id in a token. */
export function subjectOf(token: string): string {
  const payload = token.split(".")[1] ?? "";
  return (JSON.parse(Buffer.from(payload, "base64url").toString()) as { sub: string }).sub;
}

function signedIn(token: string, authenticator: Authenticator): SignedIn {
  return { token, authenticator, id: subjectOf(token), headers: { authorization: `Bearer ${token}` } };
}

/**
 * Returns whether accounts are those of platform admins. Their routes use another request format than those of users.
 */
const isPlatform = (base: string) => base === "/api/_auth";

/** Begins a passkey ceremony (registration or sign-in) in the request format of the accounts. */
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

/** Completes a passkey ceremony (registration or sign-in) in the request format of the accounts. */
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

/**
 * Registers an account with an invitation. The accounts are those at a path: `/api/_auth`, `/api/auth` or `/api/<orb>`.
 */
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

/** Signs in with a passkey. */
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

/** Returns the platform's first admin. The first call registers the account with the bootstrap invitation. */
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

/**
 * For tests that register the first admin themselves. After this call, {@link admin} uses this invitation instead of
 * the bootstrap invitation.
 */
export async function forgetAdmin(platform: TestPlatform, invite: string): Promise<void> {
  admins.set(platform, register(platform, "/api/_auth", invite));
  await admins.get(platform);
}

/** Returns a platform admin's token: `await adminToken(platform)`. */
export async function adminToken(platform: TestPlatform): Promise<string> {
  return (await admin(platform)).token;
}

/**
 * Returns a new user of a realm (set of accounts), who registered with an invitation of the platform's admin.
 * @param realm `auth`, or the id of a published orb with accounts of its own
 */
export async function user(platform: TestPlatform, realm = "auth", role = "user"): Promise<SignedIn> {
  const { body, status } = await call(platform, "POST", `/api/${realm}/invitations`, {
    token: await adminToken(platform),
    body: { role },
  });
  if (status !== 201) throw new Error(`inviting answered ${status}: ${JSON.stringify(body)}`);
  return register(platform, `/api/${realm}`, body.token);
}

/** The commands `orb login` and `orb logout`. */
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { createInterface } from "node:readline/promises";
import { isProblem } from "../../../shared/client/problem.ts";
import type { Transport } from "../../../shared/client/transport.ts";
import { CommandError, type Context, transportTo } from "../command/context.ts";
import { readStored, removeStored, type StoredToken, storedPath, writeStored } from "../command/stored.ts";
import { say } from "../command/terminal.ts";
import { baseOfToken, PLATFORM_BASE } from "../command/token.ts";
import { hasBrowser, openBrowser } from "./browser.ts";
import { type Answer, listen } from "./loopback.ts";
import { baseFor } from "./realm.ts";
import { parseScopes, requireDays, type Scope, scopesInWords, scopesText } from "./scopes.ts";

/** Milliseconds for the user to sign in and to approve the command. */
const WAIT_MS = 10 * 60_000;

export interface LoginOptions {
  orb?: string | undefined;
  scopes?: string | undefined;
  days: number;
  /** Whether to open a browser; undefined to decide by the environment. */
  browser?: boolean | undefined;
  signal: AbortSignal;
}

interface Created {
  id: string;
  token: string;
  scopes: Scope[];
  expiresAt: string;
}

/** Returns the name of this computer. Replaces characters that the platform does not accept. */
function hostName(): string {
  const name = hostname()
    .replace(/\.local$/, "")
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 36);
  return name === "" ? "computer" : name;
}

/**
 * Returns the rights that a login requests. `orb push` needs the right `manage`. A login to a user's own account does
 * not request it, because with it, a thief of the token could add a passkey to the account.
 */
function scopesFor(base: string, text: string | undefined): Scope[] {
  const orb = base === PLATFORM_BASE || base === "/api/auth" ? "*" : base.slice("/api/".length);
  return parseScopes(
    text ?? (base === PLATFORM_BASE ? "read,write,publish,manage" : "read,write,publish"),
    orb,
  );
}

/** Prints a message for the user to standard error, even with `--json`, because the user must act on it. */
const tell = (line: string) => say("stderr", line);

/** Rejects when the user stops the command, or after {@link WAIT_MS}. */
async function within<T>(wait: (signal: AbortSignal) => Promise<T>, stopped: AbortSignal): Promise<T> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(WAIT_MS)]);
  const ended = new Promise<never>((_, reject) => {
    const stop = () =>
      reject(
        new CommandError(
          stopped.aborted
            ? "Stopped. You are not signed in."
            : "No answer came within 10 minutes. Try again.",
        ),
      );
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  ended.catch(() => undefined);
  return Promise.race([wait(signal), ended]);
}

async function pastedCode(signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    const code = (await Promise.race([lines.question("Paste the code: ", { signal }), ended])).trim();
    if (code === "") throw new CommandError("No code was given. Run orb login again, and paste the code.");
    return code;
  } finally {
    lines.close();
  }
}

/** Signs in with a browser on another computer: the user copies the code into the terminal. */
async function signInElsewhere(
  page: (more: Record<string, string>) => string,
  exchange: (code: string) => Promise<Created>,
  stopped: AbortSignal,
): Promise<Created> {
  tell(`Open this address in a browser, on any computer, and allow the sign-in:\n\n  ${page({})}\n`);
  return exchange(await within(pastedCode, stopped));
}

/** Signs in with a browser on this computer, which passes the code to a loopback URL. */
async function signInHere(
  context: Context,
  page: (more: Record<string, string>) => string,
  exchange: (code: string, redirect: string) => Promise<Created>,
  stopped: AbortSignal,
): Promise<Created> {
  const state = randomBytes(24).toString("base64url");
  const listener = await listen({ state, url: context.url });
  try {
    const url = page({ redirect: listener.redirect, state });
    listener.leadsTo(url);
    tell(
      `Your browser opens, and asks you to allow the sign-in. If it does not open, open this address:\n\n  ${url}\n\nIs your browser on another computer? Stop this, and add --no-browser to the command.`,
    );
    openBrowser(listener.start, context.env);
    const answer = await within(() => listener.answer, stopped);
    return await answered(answer, (code) => exchange(code, listener.redirect), page);
  } finally {
    await listener[Symbol.asyncDispose]();
  }
}

/** Exchanges the code for a token. Then shows the result in the browser. */
async function answered(
  { code, leadTo }: Answer,
  exchange: (code: string) => Promise<Created>,
  page: (more: Record<string, string>) => string,
): Promise<Created> {
  const end = (result: string) => {
    const url = new URL(page({}));
    url.search = new URLSearchParams({ result }).toString();
    return leadTo(url.href);
  };
  if (code === null) {
    await end("refused");
    throw new CommandError("You refused the sign-in in the browser. You are not signed in.");
  }
  try {
    const created = await exchange(code);
    await end("done");
    return created;
  } catch (error) {
    await end("failed");
    throw error;
  }
}

/** Throws if the platform cannot be reached, or is too old to let programs sign in. */
async function requireSupport(transport: Transport, base: string, url: string): Promise<void> {
  const query = new URLSearchParams({ result: "done" });
  try {
    const page = await transport.send({
      method: "GET",
      path: `${base}/signin/program`,
      query,
      repeat: "refused",
    });
    await page.body?.cancel();
  } catch (error) {
    if (!isProblem(error) || error.status !== 404) throw error;
    throw new CommandError(
      `${url} does not offer the sign-in of programs. Check the address. If it is right, update the platform, or set ORB_TOKEN to a token.`,
    );
  }
}

/** Signs in to the platform, and stores the API token that it issues. */
export async function login(context: Context, options: LoginOptions): Promise<number> {
  const { url, env } = context;
  const { days, signal } = options;
  requireDays(days);
  // Send no token, because a stored one may have expired.
  const open = transportTo(url);
  const base = await baseFor({ ...context, transport: open }, options.orb);
  const scopes = scopesFor(base, options.scopes);
  await requireSupport(open, base, url);
  const verifier = randomBytes(32).toString("base64url");
  const wish = {
    program: "orb",
    host: hostName(),
    scope: scopesText(scopes),
    days: String(days),
    challenge: createHash("sha256").update(verifier).digest("base64url"),
  };
  const page = (more: Record<string, string>) =>
    `${url}${base}/signin/program?${new URLSearchParams({ ...wish, ...more })}`;
  const exchange = async (code: string, redirect?: string): Promise<Created> => {
    const response = await open.send({
      method: "POST",
      path: `${base}/signin/program/token`,
      body: { code, verifier, redirect },
      repeat: "refused",
    });
    return (await response.json()) as Created;
  };
  const here = options.browser ?? hasBrowser(env);
  const created = here
    ? await signInHere(context, page, exchange, signal)
    : await signInElsewhere(page, exchange, signal);
  return keep(context, base, created);
}

/**
 * Stores the new token, and revokes the token that it replaces. If the new token cannot be stored, revokes the new
 * token.
 */
async function keep(context: Context, base: string, created: Created): Promise<number> {
  const { url, env, credential } = context;
  const transport = transportTo(url, created.token);
  const replaced = readStored(url, env);
  let stored: StoredToken;
  let path: string;
  try {
    const account = await (
      await transport.send({ method: "GET", path: `${base}/me`, repeat: "safe" })
    ).json();
    const { id, token, expiresAt } = created;
    const savedAt = new Date().toISOString();
    stored = { v: 1, url, token, id, account: (account as { name: string }).name, expiresAt, savedAt };
    path = writeStored(stored, env);
  } catch (error) {
    await revoke(transport, base).catch(() => undefined);
    throw error;
  }
  const replacedBase = replaced === null ? null : baseOfToken(replaced.token);
  if (replaced !== null && replacedBase !== null)
    await revoke(transportTo(url, replaced.token), replacedBase).catch(() => undefined);
  const { scopes, expiresAt } = created;
  context.result({ url, account: stored.account, id: stored.id, scopes, expiresAt, path }, () => [
    `You are signed in to ${url} as ${stored.account}.`,
    `Until ${expiresAt.slice(0, 10)}, orb may ${scopesInWords(scopes)}.`,
    `The token is in ${path}. To end it, run: orb logout`,
  ]);
  if (credential.from === "environment")
    context.note("ORB_TOKEN is set, and takes precedence over the new token. Unset it to use the new one.");
  return 0;
}

async function revoke(transport: Transport, base: string): Promise<void> {
  await transport.send({ method: "DELETE", path: `${base}/tokens/current`, repeat: "safe" });
}

/** Revokes the stored token, and then deletes its file. */
export async function logout(context: Context): Promise<number> {
  const { url, env } = context;
  const stored = readStored(url, env);
  const base = stored === null ? null : baseOfToken(stored.token);
  if (stored !== null && base !== null) {
    try {
      await revoke(transportTo(url, stored.token), base);
    } catch (error) {
      // An expired token needs no revocation, and neither does a token for a deleted application.
      const ended = isProblem(error) && (error.status === 401 || error.status === 404);
      if (!ended) {
        context.note(
          `The token still works, and stays in ${storedPath(url, env)}. Try again, or delete it on the page of your account.`,
        );
        throw error;
      }
    }
  }
  removeStored(url, env);
  context.result({ url, signedOut: stored !== null }, () =>
    stored === null
      ? `You were not signed in to ${url}.`
      : `You are signed out of ${url}. The token no longer works.`,
  );
  if (env.ORB_TOKEN) context.note("ORB_TOKEN is set, and still works. Unset it, or revoke that token too.");
  return 0;
}

/** The page on which a user allows a program, such as `orb login`, to act with the user's account. */
import type { Context } from "hono";
import { readAccount } from "../../shared/access/accounts.ts";
import type { AccountActor } from "../../shared/access/actor.ts";
import { CANS, RIGHTS } from "../../shared/access/credentials/index.ts";
import { type ProgramRequest, requireAllowable } from "../../shared/access/machines/index.ts";
import type { Realm } from "../../shared/access/realms.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { logUpstream, problemHeaders, STATUS } from "../http/problem.ts";
import { type Program, ProgramSchema, programRequest, resultUrl } from "../realm/programs.ts";
import type { AppEnv } from "../request/context.ts";
import { type Html, html, nothing } from "./html.ts";
import { byName, htmlResponse, page, troubled, visitor } from "./signin.ts";
import { pageHtml, said } from "./templates.ts";

/** The final pages of a program's sign-in, by result. The program redirects the browser to one of them. */
const ENDS: Readonly<Record<string, readonly [title: string, words: string]>> = {
  done: ["You are signed in", "The program can work as you now. You can close this page and go back to it."],
  refused: ["Nothing was allowed", "The program has no access. You can close this page."],
  failed: [
    "The program is not signed in",
    "The program says what went wrong. Go back to it, and start the sign-in again.",
  ],
};

const BROKEN = [
  "This address is not complete",
  "Start the sign-in again in the program that gave you this address.",
] as const;

/**
 * Serves the page on which a user confirms a program's sign-in. Users who are not signed in go to the sign-in page
 * first, and then return.
 */
export async function showProgram(c: Context<AppEnv>, realm: Realm): Promise<Response> {
  const elsewhere = byName(c);
  if (elsewhere !== null) return elsewhere;
  const { pathname, search, searchParams } = new URL(c.req.url);
  const result = searchParams.get("result") ?? "";
  const end = Object.hasOwn(ENDS, result) ? ENDS[result] : undefined;
  if (end !== undefined) return note(c, realm, end);
  const { days = "", ...given } = Object.fromEntries(searchParams);
  const parsed = ProgramSchema.safeParse({ ...given, days: /^\d+$/.test(days) ? Number(days) : undefined });
  if (!parsed.success) return note(c, realm, BROKEN);
  try {
    const actor = await visitor(c, realm);
    if ((actor.kind !== "platform" && actor.kind !== "orb") || actor.token !== undefined)
      return c.redirect(signinUrl(realm, pathname + search), 302);
    return await confirmation(c, realm, actor, parsed.data);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.kind === "invalid") return note(c, realm, refusedWords(error));
    logUpstream(c, error);
    return page(c, realm, troubled(error), STATUS[error.kind], problemHeaders(error));
  }
}

const signinUrl = (realm: Realm, back: string) => `${realm.base}/signin?return=${encodeURIComponent(back)}`;

function note(c: Context<AppEnv>, realm: Realm, [heading, words]: readonly [string, string]): Response {
  const content = html`
      <p>${words}</p>`;
  return htmlResponse(c, realm, pageHtml(realm, { kind: "ended", heading, content, hasScript: false }));
}

function refusedWords({ errors = [] }: AppError): readonly [string, string] {
  const faults = errors.map(({ path, message }) => `${path.slice(1)} ${message}`).join("; ");
  return ["The program asks for too much", `Your account cannot allow this: ${faults}.`];
}

async function confirmation(
  c: Context<AppEnv>,
  realm: Realm,
  actor: AccountActor,
  program: Program,
): Promise<Response> {
  const { deps } = c.var;
  const request = programRequest(program);
  const expiresAt = requireAllowable(deps, actor, { realm, ...request });
  // Read the account, because its name may have changed since the session began.
  const account = await readAccount(deps, realm, actor.sub);
  const { pathname, search } = new URL(c.req.url);
  const content = questionHtml({
    ...request,
    account: account?.value.name ?? actor.name,
    expiresAt,
    refusal: resultUrl(program, { error: "access_denied" }, deps.config.publicUrl),
    other: signinUrl(realm, pathname + search),
  });
  const heading = `Allow ${program.program} to act as you?`;
  return htmlResponse(c, realm, pageHtml(realm, { kind: "program", heading, content, hasScript: true }));
}

interface Question extends Omit<ProgramRequest, "challenge"> {
  account: string;
  expiresAt: string;
  /** URL to open if the user refuses. Null if the program has no local URL that waits for the result. */
  refusal: string | null;
  /** URL of the sign-in page, where the user can switch to another account and then come back. */
  other: string;
}

function rightsHtml(scopes: ProgramRequest["scopes"]): Html {
  return scopes.reduce((all, { orb, can }) => {
    const rights = CANS.filter((right) => can.includes(right)).reduce(
      (list, right) => html`${list}
        <li><div><p class="name">${RIGHTS[right].name}</p><p class="hint">${RIGHTS[right].words}</p></div></li>`,
      nothing,
    );
    const where = orb === "*" ? "In all applications" : `In the application ${orb}`;
    return html`${all}
      <h2>${where}, it may</h2>
      <ul>${rights}
      </ul>`;
  }, nothing);
}

const DAY = new Intl.DateTimeFormat("en", { dateStyle: "long", timeZone: "UTC" });

function questionHtml({ program, host, account, scopes, days, expiresAt, ...rest }: Question): Html {
  const { redirect, refusal, other } = rest;
  const start =
    redirect === null
      ? " You get a code. Paste it only where you started the sign-in, and give it to no one."
      : "";
  return html`
      <p><strong>${program}</strong> on the computer <strong>${host}</strong> asks to act as your account <strong id="who">${account}</strong>. Both names come from the program itself. Allow it only if you started this sign-in just now.${start}</p>${rightsHtml(scopes)}
      <p>It can never do more than you. Access ends on ${DAY.format(new Date(expiresAt))}, after ${days === 1 ? "1 day" : `${days} days`}, or when you delete the token on the page of your account.</p>
      <div id="question" data-refusal="${refusal ?? ""}">
        <button id="allow" class="primary" type="button" disabled>Allow</button>
        <button id="refuse" type="button" disabled>Refuse</button>
      </div>
      <div id="made" hidden>
        <label for="program-code">Code for ${program}</label>
        <input id="program-code" type="text" readonly>
        <button id="copy" class="primary" type="button">Copy code</button>
      </div>${said("program")}
      <p class="foot">Not ${account}? <a href="${other}">Use another account</a></p>`;
}

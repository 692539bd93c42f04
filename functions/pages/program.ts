/** The page on which a user allows a program, such as `orb login`, to act with the user's account. */
import type { Context } from "hono";
import { readAccount } from "../../shared/access/accounts.ts";
import type { AccountActor } from "../../shared/access/actor.ts";
import { CANS } from "../../shared/access/credentials/index.ts";
import { type ProgramRequest, requireAllowable } from "../../shared/access/machines/index.ts";
import type { Realm } from "../../shared/access/realms.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { logUpstream, problemHeaders, STATUS } from "../http/problem.ts";
import { type Program, ProgramSchema, programRequest, resultUrl } from "../realm/programs.ts";
import type { AppEnv } from "../request/context.ts";
import { filledHtml, type Html, html, nothing } from "./html.ts";
import { wordsOf } from "./language.ts";
import { byName, htmlResponse, page, troubled, visitor } from "./signin.ts";
import { pageHtml, said } from "./templates.ts";
import type { Words } from "./texts/words.ts";

/** The final pages of a program's sign-in. The program redirects the browser to one of them, by its result. */
const ENDS = ["done", "refused", "failed"] as const;

/**
 * Serves the page on which a user confirms a program's sign-in. Users who are not signed in go to the sign-in page
 * first, and then return.
 */
export async function showProgram(c: Context<AppEnv>, realm: Realm): Promise<Response> {
  const elsewhere = byName(c);
  if (elsewhere !== null) return elsewhere;
  const { pathname, search, searchParams } = new URL(c.req.url);
  const words = wordsOf(c);
  const end = ENDS.find((known) => known === searchParams.get("result"));
  const ended = (heading: string, text: string) => note(c, realm, heading, text);
  if (end !== undefined) return ended(words.text(`page.${end}`), words.text(`page.${end}Text`));
  const { days = "", ...given } = Object.fromEntries(searchParams);
  const parsed = ProgramSchema.safeParse({ ...given, days: /^\d+$/.test(days) ? Number(days) : undefined });
  if (!parsed.success) return ended(words.text("page.broken"), words.text("page.brokenText"));
  try {
    const actor = await visitor(c, realm);
    if ((actor.kind !== "platform" && actor.kind !== "orb") || actor.token !== undefined)
      return c.redirect(signinUrl(realm, pathname + search), 302);
    return await confirmation(c, realm, actor, parsed.data);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.kind === "invalid") {
      const faults = faultsOf(error);
      return ended(words.text("page.tooMuch"), words.text("page.tooMuchText", { faults }));
    }
    logUpstream(c, error);
    return page(c, realm, troubled(words, error), STATUS[error.kind], problemHeaders(error));
  }
}

const signinUrl = (realm: Realm, back: string) => `${realm.base}/signin?return=${encodeURIComponent(back)}`;

function note(c: Context<AppEnv>, realm: Realm, heading: string, words: string): Response {
  const content = html`
      <p>${words}</p>`;
  return htmlResponse(
    c,
    realm,
    pageHtml(wordsOf(c), realm, { kind: "ended", heading, content, hasScript: false }),
  );
}

const faultsOf = ({ errors = [] }: AppError): string =>
  errors.map(({ path, message }) => `${path.slice(1)} ${message}`).join("; ");

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
  const words = wordsOf(c);
  const content = questionHtml(words, {
    ...request,
    account: account?.value.name ?? actor.name,
    expiresAt,
    refusal: resultUrl(program, { error: "access_denied" }, deps.config.publicUrl),
    other: signinUrl(realm, pathname + search),
  });
  const heading = words.text("page.question", { program: program.program });
  return htmlResponse(
    c,
    realm,
    pageHtml(words, realm, { kind: "program", heading, content, hasScript: true }),
  );
}

interface Question extends Omit<ProgramRequest, "challenge"> {
  account: string;
  expiresAt: string;
  /** URL to open if the user refuses. Null if the program has no local URL that waits for the result. */
  refusal: string | null;
  /** URL of the sign-in page, where the user can switch to another account and then come back. */
  other: string;
}

function rightsHtml({ text }: Words, scopes: ProgramRequest["scopes"]): Html {
  return scopes.reduce((all, { orb, can }) => {
    const rights = CANS.filter((right) => can.includes(right)).reduce(
      (list, right) => html`${list}
        <li><div><p class="name">${text(`right.${right}`)}</p><p class="hint">${text(`right.${right}Text`)}</p></div></li>`,
      nothing,
    );
    return html`${all}
      <h2>${orb === "*" ? text("page.mayAll") : text("page.mayOne", { orb })}</h2>
      <ul>${rights}
      </ul>`;
  }, nothing);
}

function questionHtml(words: Words, question: Question): Html {
  const { program, host, account, scopes, days, expiresAt, redirect, refusal, other } = question;
  const { text, form, language } = words;
  const date = new Intl.DateTimeFormat(language, { dateStyle: "long", timeZone: "UTC" });
  const ask = filledHtml(form("page.ask"), {
    program: html`<strong dir="auto">${program}</strong>`,
    host: html`<strong dir="auto">${host}</strong>`,
    account: html`<strong id="who" dir="auto">${account}</strong>`,
  });
  const start = redirect === null ? ` ${text("page.askCode")}` : "";
  return html`
      <p>${ask}${start}</p>${rightsHtml(words, scopes)}
      <p>${text("page.ends", { count: days, date: date.format(new Date(expiresAt)) })}</p>
      <div id="question" data-refusal="${refusal ?? ""}">
        <button id="allow" class="primary" type="button" disabled>${text("page.allow")}</button>
        <button id="refuse" type="button" disabled>${text("page.refuse")}</button>
      </div>
      <div id="made" hidden>
        <label for="program-code">${text("page.codeFor", { program })}</label>
        <input id="program-code" type="text" readonly dir="ltr">
        <button id="copy" class="primary" type="button">${text("page.copyCode")}</button>
      </div>${said("program")}
      <p class="foot">${text("page.notYou", { account })} <a href="${other}">${text("page.otherAccount")}</a></p>`;
}

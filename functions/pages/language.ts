import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import type { AppEnv } from "../request/context.ts";
import { isLanguage, LANGUAGE_COOKIE, type Language, languageFor } from "../texts/languages.ts";
import { type Words, wordsIn } from "./texts/words.ts";

/** The headers that decide about the language of a page. */
export const VARIES = "Accept-Language, Cookie";

/** Returns the language of a page: the one that the person chose, or the first one that the browser asks for. */
export const languageOf = (c: Context<AppEnv>): Language =>
  languageFor(getCookie(c, LANGUAGE_COOKIE), c.req.header("accept-language"));

/** Returns the texts of a page in its language. */
export function wordsOf(c: Context<AppEnv>): Words {
  const chosen = getCookie(c, LANGUAGE_COOKIE);
  return wordsIn(languageOf(c), isLanguage(chosen) ? chosen : undefined);
}

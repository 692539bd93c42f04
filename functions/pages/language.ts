import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import type { AppEnv } from "../request/context.ts";
import { LANGUAGE_COOKIE, type Language, languageFor } from "../texts/languages.ts";

/** The headers that decide about the language of a page. */
export const VARIES = "Accept-Language, Cookie";

/** Returns the language of a page: the one that the person chose, or the first one that the browser asks for. */
export const languageOf = (c: Context<AppEnv>): Language =>
  languageFor(getCookie(c, LANGUAGE_COOKIE), c.req.header("accept-language"));

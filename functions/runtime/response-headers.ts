/** Headers of runtime responses: caching and language. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { type Choice, choose } from "../../shared/entry/model/localize.ts";
import type { AppEnv } from "../request/context.ts";

/** Returns language and market of a response, from the parameters and `Accept-Language`. */
export function choiceOf(
  c: Context<AppEnv>,
  schema: CompiledSchema,
  extra: { locale?: string; market?: string },
): Choice {
  return choose(schema, { ...extra, acceptLanguage: c.req.header("accept-language") });
}

/** Inputs of a response besides its address. */
export interface ResponseFacts {
  schema: CompiledSchema;
  actor: Actor;
  choice: Choice;
  /** Whether only writers may see it: a draft, or the result of a write. */
  private: boolean;
  /** Whether it includes entries of other schemas. The caller selects these, and they may be translatable. */
  expanded: boolean;
  languages: readonly string[];
}

/**
 * Returns `Vary`, `Content-Language` and `Cache-Control`. Clients must always revalidate, which the ETag makes cheap.
 */
export function responseHeaders(answer: ResponseFacts): Record<string, string> {
  const { schema, actor, choice, expanded, languages } = answer;
  const personal = answer.private || expanded;
  const vary: string[] = [];
  if (choice.negotiated && (expanded || schema.translatable.length > 0)) vary.push("Accept-Language");
  if (personal || schema.access.read !== "public") vary.push("Authorization", "Cookie");
  const first = schema.translatable.length > 0 ? choice.languages[0] : undefined;
  const spoken = languages.length > 0 ? languages.join(", ") : first;
  const open = actor.kind === "anonymous" && !personal && schema.access.read === "public";
  return {
    ...(vary.length > 0 ? { vary: vary.join(", ") } : {}),
    ...(spoken !== undefined && !choice.allLocales ? { "content-language": spoken } : {}),
    "cache-control": open ? "public, no-cache" : "private, no-cache",
  };
}

/** Headers of runtime answers: what caches must tell apart, and in which languages an answer is. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import { type Choice, choose } from "../../shared/entry/model/localize.ts";
import type { AppEnv } from "../request/context.ts";

/** Language and market of an answer, from the parameters and `Accept-Language`. */
export function choiceOf(
  c: Context<AppEnv>,
  schema: CompiledSchema,
  extra: { locale?: string; market?: string },
): Choice {
  return choose(schema, { ...extra, acceptLanguage: c.req.header("accept-language") });
}

/** What an answer depends on beside its address. */
export interface Dependence {
  schema: CompiledSchema;
  actor: Actor;
  choice: Choice;
  /** Whether it is for those alone who may write: a draft, or what was written. */
  private: boolean;
  /** Whether entries of other schemas are part of it: who asks decides which, and they may be translatable. */
  expanded: boolean;
  languages: readonly string[];
}

/** `Vary`, `Content-Language` and `Cache-Control`. Answers are always asked for again, which the tag makes cheap. */
export function describeAnswer(answer: Dependence): Record<string, string> {
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

/** The address of the page that shows an entry on a site: the attribute `preview` of a schema. */
import { z } from "zod";
import { isLoopback } from "./providers.ts";

/** Placeholders that are not fields. A field of the same name cannot be part of the address. */
export const PREVIEW_PARTS = ["locale", "market", "id"] as const;

const LONGEST = 2_000;
const PLACEHOLDER = /\{([^{}]*)\}/g;
const HOST = /^([\w.-]+|\[[\da-f:.]+\])$/;

/** Returns the names in the placeholders of an address, in order. */
export function placeholdersIn(url: string): string[] {
  return [...url.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
}

/**
 * Returns the address whose placeholders are filled in; undefined if one has no value. Values are escaped, so they stay
 * within their part of the address.
 */
export function filledIn(url: string, partOf: (name: string) => string | undefined): string | undefined {
  let missing = false;
  const filled = url.replace(PLACEHOLDER, (_, name: string) => {
    const value = partOf(name) ?? "";
    // A segment of dots would lead to another page.
    if (/^\.{0,2}$/.test(value)) missing = true;
    return encodeURIComponent(value);
  });
  return missing ? undefined : filled;
}

/** Returns what is wrong with an address, apart from the names of its placeholders. */
export function addressFault(url: string): string | undefined {
  const rest = url.replace(PLACEHOLDER, "x");
  if (/[{}]/.test(rest)) return "must have a closing brace for each opening one, such as {slug}";
  const parsed = URL.parse(rest);
  if (parsed === null || (parsed.protocol !== "https:" && parsed.protocol !== "http:"))
    return "must be an address that begins with https://";
  if (parsed.protocol === "http:" && !isLoopback(parsed.hostname))
    return "must begin with https://, unless the site is on localhost";
  // The host becomes part of a Content-Security-Policy, in which `*`, `;` and `,` have a meaning.
  if (!HOST.test(parsed.hostname)) return "must have a host of letters, digits, dots and hyphens";
  if (parsed.username !== "" || parsed.password !== "") return "must not contain a user name or a password";
  // An entry must not choose the site: only this origin may be framed.
  const origin = /^[a-z]+:\/\/[^/?#\\]*/i.exec(url)?.[0] ?? "";
  if (origin.includes("{") || !/^[^/?#\\]*([/?#]|$)/.test(url.slice(origin.length)))
    return "must not have a placeholder before the path";
  return undefined;
}

/** Returns the origin of an address that {@link addressFault} accepts. */
export function previewOrigin(url: string): string {
  return new URL(url.replace(PLACEHOLDER, "x")).origin;
}

export const previewSchema = z
  .strictObject({
    url: z
      .string()
      .max(LONGEST)
      .superRefine((url, context) => {
        const message = addressFault(url);
        if (message !== undefined) context.addIssue({ code: "custom", message, params: { code: "format" } });
      })
      .meta({
        description:
          "Address of the page that shows an entry. `{name}` stands for the value of a field, `{locale}`, `{market}` or `{id}`. `https` only; `http` for localhost.",
        example: "https://site.example/{locale}/news/{slug}",
      }),
  })
  .meta({ description: "The page of the site that shows an entry, for the preview in the console." });

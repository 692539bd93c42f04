import type { Realm } from "../../shared/access/realms.ts";
import type { Config } from "../../shared/deps.ts";

/**
 * Returns the path of the page of the user's account, which belongs to the console.
 * @param back address to which the page links
 */
export function accountPage({ name }: Pick<Realm, "name">, back?: string): string {
  const page = `/console/account/${name}`;
  return back === undefined ? page : `${page}?${new URLSearchParams({ return: back })}`;
}

/**
 * Returns the absolute URL to open after sign-in; undefined if the URL is not trusted. Paths of the platform and URLs
 * of an allowed origin are trusted.
 */
export function returnAddress(
  { publicUrl, allowedOrigins }: Pick<Config, "publicUrl" | "allowedOrigins">,
  wanted: string | undefined,
): string | undefined {
  if (wanted === undefined) return undefined;
  const isPath = /^\/(?![/\\])/.test(wanted);
  if (!isPath && !/^https?:\/\/[^/\\]/.test(wanted)) return undefined;
  if (!URL.canParse(wanted, publicUrl)) return undefined;
  const url = new URL(wanted, publicUrl);
  if (url.username !== "" || url.password !== "") return undefined;
  // Return the absolute URL, because the path `/.//other.example` alone would lead to another site.
  if (isPath) {
    const stays = url.origin === new URL(publicUrl).origin && !url.pathname.startsWith("//");
    return stays ? url.href : undefined;
  }
  // `*` in the allowed origins does not match here, because it is not an origin. Otherwise the redirect could lead to
  // any site.
  return allowedOrigins.includes(url.origin) ? url.href : undefined;
}

import type { Config } from "../../shared/deps.ts";

/**
 * Returns the whole address to open after sign-in; undefined if it is not trusted. The sign-in page has the same rules
 * (functions/pages/browser/return.ts): a path of the platform, or an address of a listed origin.
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
  // Use the whole address: the path `/.//other.example` alone would lead to another site.
  if (isPath) {
    const stays = url.origin === new URL(publicUrl).origin && !url.pathname.startsWith("//");
    return stays ? url.href : undefined;
  }
  // The wildcard `*` is not an origin.
  return allowedOrigins.includes(url.origin) ? url.href : undefined;
}

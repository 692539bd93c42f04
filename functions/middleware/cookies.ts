import { parse } from "hono/utils/cookie";

/**
 * Returns the value of a cookie. Undefined if the request has several of that name: the header does not show which one
 * this host set, and a page on another port or subdomain may have set the others.
 */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const [value, ...others] = (header ?? "").split(";").flatMap((pair) => Object.values(parse(pair, name)));
  return others.length > 0 ? undefined : value;
}

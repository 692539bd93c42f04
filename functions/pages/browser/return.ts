/** Origins other than the platform to which the page may redirect the user after sign-in. */
const trusted = (document.body.dataset.origins ?? "").split(" ").filter((origin) => origin !== "");

/**
 * Returns the URL to open after sign-in, or null if the URL is not trusted. Always use the absolute URL: the path
 * `/.//other.example` alone would lead to another site.
 */
export function returnAddress(): URL | null {
  const wanted = new URLSearchParams(location.search).get("return");
  if (wanted === null) return null;
  const isPath = /^\/(?![/\\])/.test(wanted);
  if (!isPath && !/^https?:\/\/[^/\\]/.test(wanted)) return null;
  try {
    const url = new URL(wanted, location.origin);
    if (url.username !== "" || url.password !== "") return null;
    if (isPath) return url.origin === location.origin && !url.pathname.startsWith("//") ? url : null;
    return trusted.includes(url.origin) ? url : null;
  } catch {
    return null;
  }
}

export const siteOf = (url: URL) => (url.origin === location.origin ? "" : ` to ${url.host}`);

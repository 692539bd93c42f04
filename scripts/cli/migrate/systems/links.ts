/** Returns whether the platform takes an address as the target of a link in rich text. */
export function isSafe(href: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what must not occur
  if (href === "" || href.length > 2_000 || /[\u0000-\u0020\u007f-\u00a0\\]/.test(href)) return false;
  const scheme = /^([^/?#]*?):/.exec(href)?.[1]?.toLowerCase();
  return scheme === undefined || ["http", "https", "mailto", "tel", "sms"].includes(scheme);
}

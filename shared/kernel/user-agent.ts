/**
 * Derives the names of a browser and operating system from a `User-Agent` header. All names come from fixed lists, so
 * the result contains nothing that identifies a device.
 */

type Names = readonly (readonly [name: string, sign: RegExp])[];

/** The first match wins. The order matters, because the headers of most browsers also name other browsers. */
const BROWSERS: Names = [
  ["Edge", /\bEdg(?:e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Chrome", /(?:Chrome|Chromium|CriOS)\//],
  ["Safari", /\bVersion\/.*\bSafari\//],
  ["curl", /^curl\//],
];

const SYSTEMS: Names = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Windows", /\bWindows\b/],
  ["Mac", /\bMacintosh\b/],
  ["Linux", /\bLinux\b/],
];

/** Number of characters of the header that are examined. Headers from browsers are shorter. */
const AGENT_LENGTH = 512;

function named(names: Names, agent: string): string | null {
  return names.find(([, sign]) => sign.test(agent))?.[0] ?? null;
}

/** @param agent value of the `User-Agent` header */
export function namesOfAgent(agent: string): { browser: string | null; system: string | null } {
  const start = agent.slice(0, AGENT_LENGTH);
  return { browser: named(BROWSERS, start), system: named(SYSTEMS, start) };
}

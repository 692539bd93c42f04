/** Names browsers and systems in plain words, from fixed lists: nothing that identifies a device remains. */

type Names = readonly (readonly [name: string, sign: RegExp])[];

/** The first match counts: most browsers also name the browsers that they are compatible with. */
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

/** Bytes of the header that are examined. Browsers send fewer. */
const AGENT_LENGTH = 512;

function named(names: Names, agent: string): string | null {
  return names.find(([, sign]) => sign.test(agent))?.[0] ?? null;
}

/** @param agent the header `User-Agent` */
export function namesOfAgent(agent: string): { browser: string | null; system: string | null } {
  const start = agent.slice(0, AGENT_LENGTH);
  return { browser: named(BROWSERS, start), system: named(SYSTEMS, start) };
}

/**
 * The look of an application's sign-in page. The Content-Security-Policy limits it to a logo and a generated style
 * sheet.
 */

type Rgb = readonly [number, number, number];
const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];
/** The color `--card` in the dark color scheme of signin.css. */
const DARK_CARD: Rgb = [25, 28, 37];
/** Minimum contrast of text according to WCAG 2.2 level AA. */
const READABLE = 4.5;

/** Relative luminance by WCAG 2.2. */
function luminance(color: Rgb): number {
  const [r = 0, g = 0, b = 0] = color.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: Rgb, b: Rgb): number {
  const [x, y] = [luminance(a) + 0.05, luminance(b) + 0.05];
  return Math.max(x, y) / Math.min(x, y);
}

/** Mixes the color with `towards` until text in the mixed color is readable on the background. */
function readable(color: Rgb, towards: Rgb, ground: Rgb): string {
  const mixed = (share: number): Rgb => {
    const part = (at: 0 | 1 | 2) => Math.round(color[at] + (towards[at] - color[at]) * share);
    return [part(0), part(1), part(2)];
  };
  let share = 0;
  while (share < 1 && contrast(mixed(share), ground) < READABLE) share += 0.02;
  return `#${mixed(Math.min(share, 1))
    .map((value) => value.toString(16).padStart(2, "0"))
    .join("")}`;
}

/** Returns the name of the style sheet with a readable form of the color. */
export const accentName = (color: string) => `accent-${color.slice(1).toLowerCase()}.css`;

/** Returns the style sheet `accent-<hex color>.css` with an application's color, or undefined for any other name. */
export function accentStyle(name: string): string | undefined {
  const hex = /^accent-([0-9a-f]{6})\.css$/.exec(name)?.[1];
  if (hex === undefined) return undefined;
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16);
  const color: Rgb = [part(0), part(2), part(4)];
  const light = readable(color, BLACK, WHITE);
  return `:root{--accent:light-dark(${light},${readable(color, WHITE, DARK_CARD)})}`;
}

/** Returns the Content-Security-Policy source that allows only this logo. */
export function logoSource(logo: string | undefined): string {
  if (logo?.startsWith("https:") !== true) return "";
  const { origin, pathname } = new URL(logo);
  return ` ${origin}${pathname.replaceAll(";", "%3B").replaceAll(",", "%2C")}`;
}

/** Accessibility of pages, as axe finds it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Returns the violations that axe finds in both colour schemes, by rule and element. All rules run in the scheme that
 * the page has. In the other one, only the contrast rules run, because only the colours differ.
 */
export async function faults(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  const isDark: boolean = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
  const [shown, other] = isDark ? (["dark", "light"] as const) : (["light", "dark"] as const);
  await page.emulateMedia({ colorScheme: other });
  const found = await contrastFaults(page, other);
  await page.emulateMedia({ colorScheme: shown });
  found.push(...(await contrastFaults(page, shown)));
  const others = await page.evaluate(structureFaults, CONTRAST);
  return [...found, ...others.map((fault) => `${shown}: ${fault}`)];
}

const CONTRAST = ["color-contrast", "link-in-text-block"];

/**
 * Colours in which a page of this worker showed a text, and in which axe found enough contrast. Finding the background
 * of a text takes axe longer than all other rules together, and pages have most colours in common.
 */
const readable = new Set<string>();

async function contrastFaults(page: Page, scheme: string): Promise<string[]> {
  const { violations, passed } = await page.evaluate(checkContrast, {
    known: [...readable],
    rules: CONTRAST,
  });
  for (const colours of passed) readable.add(colours);
  return violations.map((fault) => `${scheme}: ${fault}`);
}

/** What scripts of the page use of axe. */
interface Axe {
  run(
    context: object,
    options: object,
  ): Promise<Record<"violations" | "passes", { id: string; nodes: { html: string; element?: object }[] }[]>>;
}

/** Runs in the page: all rules but those of contrast. */
async function structureFaults(contrast: string[]): Promise<string[]> {
  const { axe, document } = globalThis as unknown as { axe: Axe; document: object };
  const rules = Object.fromEntries(contrast.map((id) => [id, { enabled: false }]));
  const { violations } = await axe.run(document, { preload: false, resultTypes: ["violations"], rules });
  return violations.map(({ id, nodes }) => `${id} ${nodes.map(({ html }) => html)}`);
}

/**
 * Runs in the page: the rules of contrast, for texts in colours that are not known.
 * @returns the violations, and the colours of the texts that passed
 */
async function checkContrast({ known, rules }: { known: string[]; rules: string[] }): Promise<{
  violations: string[];
  passed: string[];
}> {
  interface Style {
    [property: string]: string;
  }
  interface Element {
    parentElement: Element | null;
    childNodes: Iterable<{ nodeType: number; data: string }>;
    localName: string;
    checkVisibility(): boolean;
    matches(selector: string): boolean;
  }
  const { axe, document, getComputedStyle, requestAnimationFrame } = globalThis as unknown as {
    axe: Axe;
    getComputedStyle(element: Element, part?: string): Style;
    requestAnimationFrame(callback: () => void): void;
    document: {
      querySelectorAll(selector: string): Iterable<Element>;
      getAnimations(): { finish(): void; finished: Promise<unknown> }[];
    };
  };
  // Scripts of the page see a change of the scheme with the next frame.
  await new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));
  // Colours change gradually after a change of the scheme. Drawing each step takes longer than a rule of axe.
  const animations = document.getAnimations().map((animation) => {
    try {
      animation.finish();
    } catch {
      // This one ends only with what it belongs to, such as the mark of something that loads.
    }
    return animation.finished;
  });
  await Promise.allSettled(animations);

  const styles = new Map<Element, Style>();
  const styleOf = (element: Element): Style => {
    const style = styles.get(element) ?? getComputedStyle(element);
    styles.set(element, style);
    return style;
  };
  const backgrounds = new Map<Element, string>();
  /** Returns what can be seen behind the content of an element. */
  const behind = (element: Element | null): string => {
    if (element === null) return "";
    const cached = backgrounds.get(element);
    if (cached !== undefined) return cached;
    const { backgroundColor, backgroundImage, opacity, filter } = styleOf(element);
    const own = [backgroundColor, backgroundImage, opacity, filter].join(" ");
    const isOpaque = /^rgb\([^/]*\) none 1 none$/.test(own);
    const isClear = own === "rgba(0, 0, 0, 0) none 1 none";
    const all = isClear
      ? behind(element.parentElement)
      : isOpaque
        ? own
        : `${own}, ${behind(element.parentElement)}`;
    backgrounds.set(element, all);
    return all;
  };
  const hasText = (element: Element | null) =>
    element !== null &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
  const coloursOf = (element: Element): string => {
    const { color, fontSize, fontWeight, textShadow, textDecorationLine } = styleOf(element);
    const parent = element.parentElement;
    const parts = [color, fontSize, fontWeight, textShadow, behind(element)];
    // A link must also differ from the text around it.
    if (element.localName === "a" && hasText(parent) && parent !== null)
      parts.push(textDecorationLine ?? "", styleOf(parent).color ?? "");
    if (element.matches(":placeholder-shown"))
      parts.push(getComputedStyle(element, "::placeholder").color ?? "");
    return parts.join("; ");
  };

  const approved = new Set(known);
  const texts = new Map<string, Element[]>();
  for (const element of document.querySelectorAll("body, body *")) {
    if (!hasText(element) && !element.matches("input, select, textarea")) continue;
    if (!element.checkVisibility()) continue;
    const colours = coloursOf(element);
    const same = texts.get(colours) ?? [];
    same.push(element);
    texts.set(colours, same);
  }
  const passed: string[] = [];
  // Axe passes over some texts, such as those of disabled buttons. Then it must look at all in the same colours.
  for (const most of [2, Number.POSITIVE_INFINITY]) {
    const unknown = new Map<object, string>();
    for (const [colours, elements] of texts)
      if (!approved.has(colours))
        for (const element of elements.slice(0, most)) unknown.set(element, colours);
    if (unknown.size === 0) break;
    const options = {
      preload: false,
      resultTypes: ["violations", "passes"],
      elementRef: true,
      runOnly: rules,
    };
    const { violations, passes } = await axe.run([...unknown.keys()], options);
    if (violations.length > 0)
      return {
        violations: violations.map(({ id, nodes }) => `${id} ${nodes.map(({ html }) => html)}`),
        passed,
      };
    for (const { element } of passes
      .filter(({ id }) => id === "color-contrast")
      .flatMap(({ nodes }) => nodes)) {
      const colours = element === undefined ? undefined : unknown.get(element);
      if (colours === undefined || approved.has(colours)) continue;
      approved.add(colours);
      passed.push(colours);
    }
  }
  return { violations: [], passed };
}

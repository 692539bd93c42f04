/** Does the tasks in the interface of a product, and counts the clicks, keys and page loads. */
import type { Page } from "playwright-core";
import { type Count, Hand } from "./hand.ts";
import { type RunningProduct, TASKS, type Task } from "./tasks.ts";

/** What each task took, or why it is not possible. */
export type Counts = Record<Task, Count | string>;

const isTask = (name: string): name is Task => Object.hasOwn(TASKS, name);

/**
 * Does the tasks one after the other, each from the first page.
 * @param only the tasks to do; all by default
 */
export async function countTasks(
  page: Page,
  product: RunningProduct,
  only: readonly string[] = Object.keys(TASKS),
): Promise<Partial<Counts>> {
  await product.signIn(page);
  const counts: Partial<Counts> = {};
  for (const task of only.filter(isTask)) {
    const way = product.ways[task];
    if (typeof way === "string") {
      counts[task] = way;
      continue;
    }
    // A page without the state of the task before. Some interfaces ask before they let go of a form.
    await page.goto("about:blank");
    await product.reset?.();
    await page.goto(product.home);
    await product.ready(page).waitFor();
    const hand = new Hand(page);
    try {
      await way(hand);
    } catch (error) {
      throw new Error(`${product.version}, ${task}: ${String(error)}`, { cause: error });
    }
    counts[task] = hand.stop();
  }
  return counts;
}

const cell = (count: Count | string | undefined): string => {
  if (count === undefined || typeof count === "string") return "–";
  const { clicks, keys, loads } = count;
  return [
    `${clicks}`,
    ...(keys === 0 ? [] : [`${keys} keys`]),
    ...(loads === 0 ? [] : [`${loads} loads`]),
  ].join(", ");
};

/** Returns a table in Markdown, with the reasons below it. */
export function tableOf(
  products: readonly { name: string; version: string; counts: Partial<Counts> }[],
): string {
  const names = products.map(({ name, version }) => `${name} ${version}`);
  const rows = Object.entries(TASKS).map(([task, about]) => [
    about,
    ...products.map(({ counts }) => cell(isTask(task) ? counts[task] : undefined)),
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const reasons = products.flatMap(({ name, counts }) =>
    Object.entries(counts).flatMap(([task, count]) =>
      typeof count === "string" && isTask(task) ? [`- ${TASKS[task]}: ${name} ${count}.`] : [],
    ),
  );
  return [
    line(["task", ...names]),
    line(["---", ...names.map(() => "---")]),
    ...rows.map(line),
    "",
    ...reasons,
  ].join("\n");
}

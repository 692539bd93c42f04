/** The twelve tasks of an editor's day, which `clicks.test.ts` counts. */
import type { Locator, Page } from "playwright-core";
import type { Hand } from "./hand.ts";

export const TASKS = {
  article: "Write an article with an image in two languages, and publish it",
  schedule: "Let a draft go live next week",
  typo: "Correct a typing error in a live article",
  restore: "Compare an article with an earlier version, and restore that",
  find: "Find the article with a word in its text, and open it",
  publish: "Publish 60 drafts",
  invite: "Invite a colleague",
  who: "See who changed what in an article",
  type: "Change the type of a field that has values",
  webhook: "Look at a delivery of a webhook that failed",
  replace: "Replace an image in all articles",
  untranslated: "Find the articles without a German title",
} as const;

export type Task = keyof typeof TASKS;

/**
 * How a product does a task: from its first page, signed in, until the result is stored or shown. Throws unless it is.
 * A text says why the product cannot do it.
 */
export type Way = ((hand: Hand) => Promise<void>) | string;

/** The names and texts of the content that each product has. */
export const CONTENT = {
  /** Drafts, of which the first 60 are published together. */
  drafts: 60,
  /** The draft that is scheduled. */
  later: "A later article",
  /** A live article, with the error in its title. */
  typo: { wrong: "Lvie from the habour", right: "Live from the harbour" },
  /** An article that was changed once, and gets its first title again. */
  changed: { before: "The first title", after: "The second title" },
  /** Another one that was changed once. */
  edited: { before: "A draft of a title", after: "A title that was edited" },
  /** A word of one article. */
  word: "zanzibar",
  found: "An island",
  /** Articles that share an image. */
  sharing: 3,
  /** Articles without a German title. */
  untranslated: 7,
  colleague: "ann@example.org",
} as const;

/** An image that tasks upload. */
export const IMAGE = {
  name: "red.png",
  mimeType: "image/png",
  buffer: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAwCAIAAAAuKetIAAAAU0lEQVR4nO3PMQ0AIADAMA7E4D8IQwIiOBqSVcE2z17jZ1MHvGpAa0BrQGtAa0BrQGtAa0BrQGtAa0BrQGtAa0BrQGtAa0BrQGtAa0BrQGtAa0C7BqECjegXJbAAAAAASUVORK5CYII=",
    "base64",
  ),
};

/** A product that runs, with the content of the tasks. */
export interface RunningProduct {
  version: string;
  ways: Record<Task, Way>;
  /** Signs in. This is not counted. */
  signIn(page: Page): Promise<void>;
  /** Address of the first page, where each task begins. */
  home: string;
  /** What the first page shows when it is ready. */
  ready(page: Page): Locator;
  /** Forgets what the interface remembers of the task before, such as filters of a list. */
  reset?(): Promise<void>;
  stop(): Promise<void>;
}

export interface Product {
  name: string;
  /** @param dir a folder that keeps what it installs for the next run */
  start(dir: string): Promise<RunningProduct>;
}

/** A pair of hands in a browser, which counts what it does. */
import type { Locator, Page, Request } from "playwright-core";

/** What a task took. */
export interface Count {
  clicks: number;
  /** Keys besides those of the content: of shortcuts, and of words that only find something. */
  keys: number;
  /** Documents that the browser loaded. */
  loads: number;
}

export class Hand {
  readonly page: Page;
  readonly #count: Count = { clicks: 0, keys: 0, loads: 0 };

  constructor(page: Page) {
    this.page = page;
    page.on("request", this.#onRequest);
  }

  readonly #onRequest = (request: Request) => {
    if (request.isNavigationRequest() && request.frame() === this.page.mainFrame()) this.#count.loads++;
  };

  /** Ends counting. @returns what was counted */
  stop(): Count {
    this.page.off("request", this.#onRequest);
    return { ...this.#count };
  }

  async click(target: Locator, options: Parameters<Locator["click"]>[0] = {}): Promise<void> {
    await target.click(options);
    this.#count.clicks++;
  }

  /** Writes content into an input. A click, unless the input has the focus. */
  async write(target: Locator, text: string): Promise<void> {
    await this.#focus(target);
    await target.fill(text);
  }

  /** Types words that find something. */
  async find(target: Locator, words: string): Promise<void> {
    await this.#focus(target);
    await target.pressSequentially(words);
    this.#count.keys += words.length;
  }

  /** Presses a key, or several together such as `Control+K`. */
  async press(key: string): Promise<void> {
    await this.page.keyboard.press(key);
    this.#count.keys += key.split("+").length;
  }

  /** Chooses an option of a native list: a click opens the list, and another one chooses. */
  async choose(target: Locator, option: string): Promise<void> {
    await target.selectOption(option);
    this.#count.clicks += 2;
  }

  /** Chooses a file in the dialog of the system, which a click opens. What happens in that dialog is not counted. */
  async pick(target: Locator, file: { name: string; mimeType: string; buffer: Buffer }): Promise<void> {
    const [chooser] = await Promise.all([this.page.waitForEvent("filechooser"), this.click(target)]);
    await chooser.setFiles(file);
  }

  async #focus(target: Locator): Promise<void> {
    await target.waitFor();
    if (await target.evaluate((one) => one === one.ownerDocument.activeElement)) return;
    await this.click(target);
  }
}

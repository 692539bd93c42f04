import { type HomeKey, homeKey } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { answer, type Question } from "../../entry/migrate/index.ts";
import type { Home } from "../../store/subjects.ts";

/** Questions about stored entries. Those about the same schema are answered by one read of its entries. */
export class Survey {
  readonly #questions = new Map<HomeKey, { home: Home; questions: Question<unknown>[] }>();

  add<T>(home: Home, question: Question<T>): Question<T> {
    const place = this.#questions.get(homeKey(home)) ?? { home, questions: [] };
    this.#questions.set(homeKey(home), place);
    place.questions.push(question);
    return question;
  }

  /** Returns whether there is a question about a schema, so that its entries are read. */
  reads(home: Home): boolean {
    return this.#questions.has(homeKey(home));
  }

  /** @param since reads only entries that were written after this sequence number */
  async answer(deps: Deps, orb: string, since?: number): Promise<void> {
    for (const { home, questions } of this.#questions.values())
      await answer(deps, orb, home, questions, since);
  }
}

/** Something that a stream must contain and does not, or two parts of the stored data that contradict each other. */
export interface Damage {
  stream: string;
  /** First and last sequence number of what is concerned, as far as they are known. */
  from?: number | undefined;
  to?: number | undefined;
  /** One sentence, without values of entries. */
  says: string;
}

/** Formats one damage, such as `øshop, sequences 12 to 40: …`. */
export function lineOfDamage({ stream, from, to, says }: Damage): string {
  if (from === undefined) return `${stream}: ${says}`;
  const range = to === undefined || to === from ? `sequence ${from}` : `sequences ${from} to ${to}`;
  return `${stream}, ${range}: ${says}`;
}

/** Advice for the operator whose stream is damaged. */
export const RESTORE_ADVICE =
  "Stop writes, keep a copy of the data folder, and restore the newest backup that npm run doctor -- --deep finds complete.";

/** Advice for the operator whose broker does not find what it has stored since it read damaged files. */
export const RESTART_ADVICE =
  "Restart the brokers, one after the other. Until then, writes are 409 write_conflict.";

/** Damages that are reported for each stream. More of them say nothing new, and would take too much memory. */
export const MOST_DAMAGES = 1_000;

/** Collects damages up to {@link MOST_DAMAGES}. */
export class Damages {
  readonly list: Damage[] = [];
  #more = 0;

  add(damage: Damage): void {
    if (this.list.length < MOST_DAMAGES) this.list.push(damage);
    else this.#more++;
  }

  get total(): number {
    return this.list.length + this.#more;
  }
}

const acts: (() => Promise<void>)[] = [];

/** Runs a function after all `afterAll` hooks of the current test file. Hooks and tests may call this too. */
export function atFileEnd(act: () => Promise<void>): void {
  acts.push(act);
}

/** Runs what the file registered, the last first. */
export async function endFile(): Promise<void> {
  for (const act of acts.splice(0).reverse()) await act();
}

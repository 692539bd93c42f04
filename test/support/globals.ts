/** Functions of the process that tests replace, such as by fake timers. */
const NAMES = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "Date", "fetch"];
const real = NAMES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);

/**
 * Restores the functions that an earlier file of this worker has left replaced. With fake timers, every later file that
 * waits for something would hang until its time limit.
 */
export function restoreGlobals(): void {
  for (const [name, descriptor] of real)
    if (descriptor !== undefined) Object.defineProperty(globalThis, name, descriptor);
}

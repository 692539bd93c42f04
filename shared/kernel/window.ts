/** Returns the number of the current rate limit period, and the seconds until this period ends. */
export function windowAt(now: number, seconds: number): { number: number; left: number } {
  const ms = seconds * 1000;
  const number = Math.floor(now / ms);
  return { number, left: Math.max(1, Math.ceil(((number + 1) * ms - now) / 1000)) };
}

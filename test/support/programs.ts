import { inject } from "vitest";

/** Returns the folder of what platforms run and serve, which was built once for all test files. */
export function testPrograms(): string {
  const made = inject("programs");
  if ("error" in made) throw new Error(`The programs cannot be built: ${made.error}`);
  return made.path;
}

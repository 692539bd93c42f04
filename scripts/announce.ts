/** What the terminal says once the platform serves. */
import type { Platform } from "./platform.ts";

/** Tells where everything is that was started, and how to sign in for the first time. */
export function announce({ settings, streamsUrl, bootstrapUrl }: Platform): void {
  const { publicUrl } = settings;
  console.log(
    `\nThe platform is ready at ${publicUrl} (its API for people: ${publicUrl}/api/docs, for programs: ${publicUrl}/api/openapi)`,
  );
  // By the name that the platform itself has where it is not told otherwise.
  const streams = streamsUrl?.replace("//127.0.0.1:", "//localhost:");
  if (streams !== undefined) console.log(`Streams are served at ${streams}/api/streams/`);
  if (bootstrapUrl !== null)
    console.log(`\nNo platform admin yet. Become the first one here:\n${bootstrapUrl}`);
}

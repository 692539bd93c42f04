import type { Platform } from "./platform.ts";

export function announce({ settings, streamsUrl, bootstrapUrl }: Platform): void {
  const { publicUrl } = settings;
  console.log(`\nThe console, to work in the browser: ${publicUrl}/console`);
  console.log(
    `The platform is ready at ${publicUrl} (its API for people: ${publicUrl}/api/docs, for programs: ${publicUrl}/api/openapi)`,
  );
  // Print "localhost", as in the platform's default URL.
  const streams = streamsUrl?.replace("//127.0.0.1:", "//localhost:");
  if (streams !== undefined) console.log(`Streams are served at ${streams}/api/streams/`);
  if (bootstrapUrl !== null)
    console.log(`\nNo platform admin yet. Become the first one here:\n${bootstrapUrl}`);
}

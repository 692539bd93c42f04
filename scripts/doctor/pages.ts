import { type Finding, fail, messageOf, ok } from "./finding.ts";

const RESPONSE_LIMIT_MS = 10_000;

/** Pages that people open in a browser. */
const PAGES = { console: "/console", "sign-in page": "/api/_auth/signin" } as const;

async function statusOf(url: string): Promise<{ status: string; body: string }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_LIMIT_MS), redirect: "manual" });
    return { status: `status ${response.status}`, body: await response.text() };
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    return { status: cause === undefined ? messageOf(error) : messageOf(cause), body: "" };
  }
}

/** Checks that the console and the sign-in page answer with 200, and so do the scripts and styles that they load. */
export async function checkPages(publicUrl: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, path] of Object.entries(PAGES)) {
    const page = await statusOf(`${publicUrl}${path}`);
    const files = [...page.body.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map(([, file]) => file);
    const answers = await Promise.all(
      files.map(async (file) => ({ path: file, ...(await statusOf(`${publicUrl}${file}`)) })),
    );
    const wrong = [{ path, ...page }, ...answers].find(({ status }) => status !== "status 200");
    findings.push(
      wrong === undefined
        ? ok("pages", `The ${name} answers, with ${files.length} files.`)
        : fail(
            "pages",
            `The ${name} does not work: ${publicUrl}${wrong.path} answers with ${wrong.status}.`,
            "Look for the request in the host's log, and restart the host. Check what the proxy sends to it.",
          ),
    );
  }
  return findings;
}

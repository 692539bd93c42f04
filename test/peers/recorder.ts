/** Records what a product answers, so that tests without the product can serve the same answers. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RecordedAnswer } from "../support/recorded.ts";

/** Changes a body of JSON before it is recorded, such as to leave out what no test needs. */
export type Shorten = (path: string, body: unknown) => unknown;

/** Passes requests on to a product, and remembers the answers. */
export async function startRecorder(target: string, shorten: Shorten = (_, body) => body) {
  const answers: Record<string, RecordedAnswer> = {};
  const server = createServer(async (request, response) => {
    const { url = "/", headers } = request;
    const { authorization = "" } = headers;
    const answer = await fetch(target + url, { headers: { authorization }, redirect: "manual" });
    const type = answer.headers.get("content-type") ?? "";
    const content = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status, { "content-type": type }).end(content);
    if (answer.status !== 200) return;
    answers[url] = /^application\/json/.test(type)
      ? { json: shorten(url, JSON.parse(content.toString())) }
      : { base64: content.toString("base64"), type };
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Writes the answers to a file if the environment says so: RECORD=1. */
    save(path: string): void {
      if (process.env.RECORD !== "1") return;
      const lines = Object.entries(answers).map(
        ([url, one]) => `${JSON.stringify(url)}: ${JSON.stringify(one)}`,
      );
      writeFileSync(path, `{\n${lines.join(",\n")}\n}\n`);
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Serves recorded answers of another product. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type RecordedAnswer = { json: unknown } | { base64: string; type: string };

/**
 * Answers of a product by path and query.
 * @param name file in `test/fixtures`, without `.json`
 * @param change changes answers before they are served
 */
export async function serveRecorded(
  name: string,
  token: string,
  change: (answers: Record<string, RecordedAnswer>) => void = () => undefined,
) {
  const path = new URL(`../fixtures/${name}.json`, import.meta.url);
  const answers = JSON.parse(readFileSync(path, "utf8")) as Record<string, RecordedAnswer>;
  change(answers);
  const missed = new Set<string>();
  const server = createServer(({ url = "/", headers }, response) => {
    const answer = answers[url];
    if (headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401, { "content-type": "application/json" }).end("{}");
    } else if (answer === undefined) {
      missed.add(url);
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
    } else if ("json" in answer) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer.json));
    } else {
      response.writeHead(200, { "content-type": answer.type }).end(Buffer.from(answer.base64, "base64"));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Paths that were asked for and are not recorded. */
    missed,
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

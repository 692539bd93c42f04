/** Tests requests for a stream that another process is creating at the same moment. */
import { expect, test } from "vitest";
import { pause } from "../../shared/kernel/pause.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { StreamMissing } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";

test("a request for a stream that is being created succeeds, or reports that the stream is missing", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  const other = broker.store("operator");
  const failures: unknown[] = [];
  const asked: Promise<unknown>[] = [];
  for (let round = 0; round < 10; round++) {
    const orb = `shop${round}`;
    const stream = `ø${orb}`;
    const ask = async (request: Promise<unknown>) => {
      await request.catch((error: unknown) => failures.push(error));
    };
    let created = false;
    const creating = store.createStream(orbStreamConfig(orb, 1)).finally(() => {
      created = true;
    });
    for (let n = 0; !created; n++) {
      const subject = `${orb}._guard.${n}`;
      const both = [1, 2].map((part) => ({ subject: `${subject}.${part}`, data: "" }));
      asked.push(
        ask(other.append(stream, { subject: `${subject}.0`, data: "" })),
        ask(other.batch(stream, both)),
        ask(other.get(stream, `${subject}.0`)),
        ask(other.scan(stream, `${orb}.>`, { fromSeq: 1, limit: 1, maxBytes: 1000 })),
      );
      await pause(1);
    }
    await creating;
  }
  await Promise.all(asked);
  expect(failures.filter((error) => !(error instanceof StreamMissing))).toEqual([]);
  expect(failures.length).toBeLessThan(asked.length);
});

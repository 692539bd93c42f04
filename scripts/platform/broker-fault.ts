import { openStore } from "../../shared/store/broker/index.ts";
import type { ConnectOptions } from "../../shared/store/client/index.ts";
import { subjects } from "../../shared/store/subjects.ts";
import type { Broker } from "../broker/launch.ts";

/**
 * Answers the health checks of the functions: why the platform's own brokers store no data, as their logs say. A cluster
 * stores data as long as more than half of its brokers do.
 */
export function answerFaults(
  access: ConnectOptions,
  brokers: readonly Pick<Broker, "fault">[],
): { stop(): Promise<void> } {
  const store = openStore({ ...access, reconnect: true });
  const fault = async (): Promise<string> => {
    const told = await Promise.all(brokers.map((broker) => broker.fault()));
    const faults = told.filter((one) => one !== undefined);
    return faults.length * 2 >= brokers.length ? (faults[0] ?? "") : "";
  };
  const answer = async (reply: string) => store.publish(reply, await fault());
  store.subscribe(subjects.brokerFault, ({ reply }) => {
    // If the connection is lost meanwhile, the health check asks again.
    if (reply !== undefined) void answer(reply).catch(() => undefined);
  });
  return { stop: () => store.close().catch(() => undefined) };
}

/** Listeners that share one subscription: what one of them does affects no other. */
import { expect, onTestFinished, test } from "vitest";
import { fileBroker } from "../support/broker.ts";

const broker = await fileBroker();

/** Collects what becomes an unhandled rejection. */
function rejections(): string[] {
  const found: string[] = [];
  const before = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (reason) => found.push(String(reason)));
  onTestFinished(() => {
    process.removeAllListeners("unhandledRejection");
    for (const listener of before) process.on("unhandledRejection", listener);
  });
  return found;
}

const fault = (text: string) => () => {
  throw new Error(text);
};

test("a listener that throws is told that it is lost, and others get the message", async () => {
  const found = rejections();
  const store = broker.store("operator");
  const heard: string[] = [];
  const add = (name: string, then: () => void, lost?: () => void) =>
    store.subscribe(
      "svc.thrown",
      () => {
        heard.push(name);
        then();
      },
      lost,
    );
  add("bad", fault("bad"), () => heard.push("bad lost"));
  add("worse", fault("worse"), fault("worse lost"));
  add("simple", fault("simple"));
  add(
    "good",
    () => undefined,
    () => heard.push("good lost"),
  );
  await store.ping();
  store.publish("svc.thrown", "");
  await store.ping();
  expect(heard.splice(0)).toEqual(["bad", "bad lost", "worse", "simple", "good"]);
  store.publish("svc.thrown", "");
  await store.ping();
  expect(heard).toEqual(["simple", "good"]);
  await expect.poll(() => found).toHaveLength(4 + 1);
  expect(found).toContain("Error: worse lost");
});

test("all listeners are told that the broker refuses their subscription, also if one throws", async () => {
  const found = rejections();
  const store = broker.store("fn");
  const told: string[] = [];
  store.subscribe("$KV.>", () => undefined, fault("bad"));
  store.subscribe(
    "$KV.>",
    () => undefined,
    () => told.push("later"),
  );
  await expect.poll(() => told).toEqual(["later"]);
  await expect.poll(() => found).toEqual(["Error: bad"]);
  // One that joins after the refusal asks again.
  store.subscribe(
    "$KV.>",
    () => undefined,
    () => told.push("again"),
  );
  await expect.poll(() => told).toEqual(["later", "again"]);
});

test("a listener that ends the last subscription while it hears a message can begin another one", async () => {
  const store = broker.store("operator");
  let heard = 0;
  const first = store.subscribe("svc.renewed", () => {
    first.unsubscribe();
    store.subscribe("svc.renewed", () => heard++);
  });
  await store.ping();
  store.publish("svc.renewed", "");
  await store.ping();
  expect(heard).toBe(0);
  store.publish("svc.renewed", "");
  await store.ping();
  expect(heard).toBe(1);
});

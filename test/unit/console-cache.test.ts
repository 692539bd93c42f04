/** The console's cache of API data. Each test uses a key of its own, because the cache is shared. */
import { expect, test } from "vitest";
import { cached, keep, refresh, reload, show } from "../../functions/console/state/cache.ts";

/** A server whose responses the test sends. Each request gets the value that the server has at its start. */
function server() {
  const state = { value: 1, requests: 0 };
  const pending: (() => void)[] = [];
  const load = () => {
    state.requests++;
    const { value } = state;
    return new Promise<number>((resolve) => pending.push(() => resolve(value)));
  };
  const respond = async () => {
    for (const each of pending.splice(0)) each();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { state, load, respond };
}

test("sends one request for two components that show the same data", async () => {
  const { state, load, respond } = server();
  show("both", load);
  show("both", load);
  await respond();
  expect(cached("both").value).toEqual({ data: 1, error: undefined, busy: false });
  show("both", load);
  expect(state.requests).toBe(1);
});

test("uses new data again shortly after the component that loaded it is gone", async () => {
  const { state, load, respond } = server();
  const leave = show("new", load);
  await respond();
  leave();
  show("new", load);
  expect(state.requests).toBe(1);
});

test("loads data again if the user leaves the page while it is refreshed", async () => {
  const { state, load, respond } = server();
  const leave = show("left", load);
  await respond();
  state.value = 2;
  refresh("left");
  leave();
  await respond();
  expect(cached("left").value).toEqual({ data: 1, error: undefined, busy: false });
  show("left", load);
  await respond();
  expect(cached("left").value.data).toBe(2);
});

test("loads data again for the next page if refreshing it failed", async () => {
  const { state, load, respond } = server();
  let fail = false;
  const leave = show("failed", () => (fail ? Promise.reject(new Error("offline")) : load()));
  await respond();
  state.value = 2;
  fail = true;
  await reload("failed");
  expect(cached("failed").value).toMatchObject({ data: 1, error: new Error("offline") });
  leave();
  show("failed", load);
  await respond();
  expect(cached("failed").value).toEqual({ data: 2, error: undefined, busy: false });
});

test("ignores a response to a request from before a write", async () => {
  const { load, respond } = server();
  show("written", load);
  keep("written", "response to the write");
  await respond();
  expect(cached("written").value).toEqual({ data: "response to the write", error: undefined, busy: false });
});

test("drops data that no component shows when its prefix is refreshed", async () => {
  const { load, respond } = server();
  const leave = show("prefix/one", load);
  await respond();
  leave();
  refresh("prefix/");
  expect(cached("prefix/one").value.data).toBeUndefined();
});

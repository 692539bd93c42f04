/** Mentions in comments on change sets, and the lists of sets that wait for the user. */
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { useConsole } from "../support/console.ts";
import { createService, createToken, scope } from "../support/tokens.ts";

const console = useConsole({});
const ORB = "console-talk";
const SETS = `/api/admin/orbs/${ORB}/changes`;
const field = { name: "title", label: "Title", type: "string" };
const other = { name: "lamp", label: "Lamp", type: "reference", ref: `${ORB}/catalog/lamp` };

async function send(method: string, path: string, body?: unknown, token = console.token) {
  const answer = await call(console.platform, method, path, {
    token,
    ...(body === undefined ? {} : { body }),
  });
  expect([answer.status < 300, answer.body?.code, answer.body?.errors]).toEqual([true, undefined, undefined]);
  return answer.body;
}

beforeAll(() =>
  console.seedOrb({
    id: ORB,
    name: "Talk",
    modules: [
      {
        id: "catalog",
        type: "CONTENT",
        schemas: [
          { id: "lamp", name: "Lamp", fields: [field] },
          { id: "room", name: "Room", fields: [field, other] },
        ],
      },
    ],
  }),
);

test("mentions an account in a comment, and shows the user the sets with mentions of them", async () => {
  const robot = await createService(console.platform, "/api/_auth");
  const set = await send("POST", SETS, { title: "Autumn" });
  const view = await console.open(`/orbs/${ORB}/changes/${set.id}`);
  await view.getByRole("button", { name: "Comment on Autumn" }).click();
  const input = view.getByRole("textbox", { name: "Comment on Autumn" });
  await input.fill("Please look, @rob");
  await view
    .getByRole("group", { name: "Mention an account" })
    .getByRole("button", { name: "@robot" })
    .click();
  await expect.poll(() => input.inputValue()).toBe("Please look, @robot ");
  await view.keyboard.type("today");
  await view.getByRole("button", { name: "Comment", exact: true }).click();
  await view.locator(".change-comment strong", { hasText: "@robot" }).waitFor();
  const { items } = await send("GET", `${SETS}/${set.id}/comments`);
  expect(items).toMatchObject([{ text: "Please look, @robot today", mentions: [robot] }]);
  const token = await createToken(
    console.platform,
    "/api/_auth",
    console.token,
    [scope(ORB, "read", "propose")],
    {
      account: robot,
    },
  );
  await send("POST", `${SETS}/${set.id}/comments`, { text: "Done", mentions: [items[0].by] }, token.token);
  const list = await console.open(`/orbs/${ORB}/changes`);
  await list.getByRole("region", { name: "Mentions of you" }).getByRole("link", { name: "Autumn" }).waitFor();
});

test("names entries that the reviewed set creates, also where others refer to them", async () => {
  const set = await send("POST", SETS, { title: "New rooms" });
  const entries = `/api/admin/orbs/${ORB}/entries?change=${set.id}`;
  const lamp = await send("POST", entries, {
    module: "catalog",
    schema: "lamp",
    values: { title: "Bright lamp" },
  });
  await send("POST", entries, {
    module: "catalog",
    schema: "room",
    values: { title: "Hall", lamp: lamp.id },
  });
  const view = await console.open(`/orbs/${ORB}/changes/${set.id}`);
  const room = view.locator(".change-entry", { has: view.getByRole("heading", { name: "Hall" }) });
  await room.getByText("Bright lamp").waitFor();
});

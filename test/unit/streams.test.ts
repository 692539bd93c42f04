import { describe, expect, test } from "vitest";
import type { StoredMessage } from "../../shared/store/types.ts";
import { filterFor, mappingFaults } from "../../shared/streams/mappings/mapping.ts";
import { Batch } from "../../shared/streams/protocol/batch.ts";
import { concat, encodeMessages, messagesAfter } from "../../shared/streams/protocol/messages.ts";
import {
  answerCursor,
  currentCursor,
  formatOffset,
  parseOffset,
} from "../../shared/streams/protocol/offset.ts";
import { parseQuery } from "../../shared/streams/protocol/query.ts";
import { FairSemaphore } from "../../shared/streams/read/fair-semaphore.ts";
import { issueTicket, readTicket } from "../../shared/streams/ticket.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function stored(seq: number, body: string): StoredMessage {
  const data = new TextEncoder().encode(body);
  return {
    subject: "a.b",
    seq,
    time: 0,
    data,
    size: data.length,
    header: () => undefined,
    text: () => body,
    json: () => JSON.parse(body),
  };
}

describe("filters", () => {
  const mapping = { stream: "wallet", subjectFilter: "wallet.{userID}.>", description: "" };

  test("replace {userID} with a plain caller id", () => {
    expect(filterFor(mapping, "0k3_a-B")).toBe("wallet.0k3_a-B.>");
  });

  test.each(["*", ">", "a.b", "a b", "", "a.>", "{userID}", "ü", "a\n", "a".repeat(129)])(
    "refuse the caller id %j",
    (id) => {
      expect(() => filterFor(mapping, id)).toThrow(expect.objectContaining({ kind: "not_found" }));
    },
  );

  test("accept any caller id if they do not contain {userID}", () => {
    expect(filterFor({ ...mapping, subjectFilter: "news.>" }, "*")).toBe("news.>");
  });

  test.each([
    ["øshop", "shop.*.public.>"],
    ["øshop", "shop.content.public.post.*"],
    ["øshop", "shop.*.public.*.{userID}"],
    ["ORDERS", "orders.{userID}.*.paid"],
    ["ORDERS", ">"],
  ])("allow %s to be mapped to %s", (stream, subjectFilter) => {
    expect(mappingFaults({ stream, subjectFilter, description: "" })).toEqual([]);
  });
});

describe("offsets and cursors", () => {
  test("are zero-padded and read back", () => {
    expect(formatOffset(42)).toBe("00000000000000000042");
    expect(parseOffset("00000000000000000042")).toEqual({ at: "after", position: 42 });
    expect(parseOffset("-1")).toEqual({ at: "beginning" });
    expect(parseOffset("now")).toEqual({ at: "now" });
  });

  test.each(["", " 1", "1,2", "-2", "1.5", "0x1", "9007199254740993", "NaN"])(
    "refuse the offset %j",
    (offset) => {
      expect(() => parseOffset(offset)).toThrow(expect.objectContaining({ kind: "malformed" }));
    },
  );

  test("a cursor grows beyond a repeated one and never falls behind the clock", () => {
    const now = 1_800_000_000_000;
    const current = currentCursor(now);
    expect(answerCursor(undefined, now)).toBe(current);
    expect(answerCursor("1", now)).toBe(current);
    expect(answerCursor("nonsense", now)).toBe(current);
    expect(answerCursor(String(current), now)).toBeGreaterThan(current);
    expect(answerCursor(String(current + 7), now)).toBeGreaterThan(current + 7);
  });
});

test("the mode depends on the parameters only", () => {
  const mode = (query: string, id?: string) => parseQuery(new URLSearchParams(query), id);
  expect(mode("").mode).toBe("events");
  expect(mode("foo=1").mode).toBe("events");
  expect(mode("", "00000000000000000007").start).toEqual({ at: "after", position: 7 });
  expect(mode("offset=-1").mode).toBe("catch-up");
  expect(mode("offset=now&live=long-poll").mode).toBe("long-poll");
  expect(mode("offset=-1&live=sse").mode).toBe("sse");
  expect(mode("offset=-1&live=sse", "00000000000000000007").start).toEqual({ at: "after", position: 7 });
});

describe("messages", () => {
  const messages = encodeMessages("s", [stored(3, "1"), stored(5, '{"a":\n2}'), stored(9, "text")]);

  test("are joined once and can be cut anywhere", () => {
    expect(text(messages.joined)).toBe('1,{"a": 2},"text"');
    expect(text(messagesAfter(messages, 3).joined)).toBe('{"a": 2},"text"');
    expect(messagesAfter(messages, 5)).toMatchObject({ seqs: [9], ends: [6] });
    expect(messagesAfter(messages, 9).seqs).toEqual([]);
    expect(messagesAfter(messages, 0)).toBe(messages);
    expect(messagesAfter(concat(messages, encodeMessages("s", [stored(10, "x")])), 5)).toMatchObject({
      seqs: [9, 10],
    });
  });

  test("are encoded once for all readers at the same position", () => {
    const batch = new Batch(2, 9, messages, true, 100);
    expect(batch.bytes("sse data", 2, 50)).toBe(batch.bytes("sse data", 0, 100));
    expect(text(batch.bytes("sse data", 2, 50))).toBe(
      'event: data\ndata:[1,{"a": 2},"text"]\nid:00000000000000000009\n\n' +
        'event: control\ndata:{"streamNextOffset":"00000000000000000009","streamCursor":"100","upToDate":true}\nid:00000000000000000009\n\n',
    );
    expect(text(batch.bytes("sse data", 5, 50))).toContain('data:["text"]\n');
    expect(text(batch.bytes("sse data", 2, 107))).toContain('"streamCursor":"107"');
    expect(text(batch.bytes("events data", 5, 50))).toMatch(
      /^event: data\ndata:"text"\nid:0+9\n\nevent: control/,
    );
  });
});

describe("tickets", () => {
  const config = { jwtSigningKeys: "[secret]", publicUrl: "https://platform.example" };
  const exp = 2_000_000_000;
  const actor = { kind: "orb", realm: "shop", sub: "u1", sid: "s1", role: "user", name: "", exp } as const;
  const now = 1_900_000_000_000;

  test("are valid for a minute, and for resuming readers until the session ends", async () => {
    const ticket = await issueTicket(config, actor, "news", now);
    const read = (at: number, resumes = false) => readTicket(config, ticket, "news", at, resumes);
    const said = { userId: "u1", admin: false, expiresAt: exp * 1000, realm: "shop", credential: "s1" };
    expect(await read(now + 59_000)).toEqual(said);
    expect(await read(now + 3_600_000, true)).toEqual(said);
    const refused = expect.objectContaining({ kind: "unauthenticated" });
    await expect(read(now + 61_000)).rejects.toEqual(refused);
    await expect(read(exp * 1000 + 1000, true)).rejects.toEqual(refused);
    for (const [other, text, name] of [
      [config, ticket, "wallet"],
      [{ ...config, jwtSigningKeys: "[other]" }, ticket, "news"],
      [{ ...config, publicUrl: "https://x" }, ticket, "news"],
      [config, "nonsense", "news"],
    ] as const)
      await expect(readTicket(other, text, name, now, true)).rejects.toEqual(refused);
  });
});

describe("fair semaphore", () => {
  test("admits in order, a few per owner, urgent ones first", async () => {
    const turns = new FairSemaphore(4, 2);
    const had: string[] = [];
    const given: (() => void)[] = [];
    const take = (owner: string, size: number, urgent = false) =>
      void turns.take(owner, size, urgent).then((done) => {
        had.push(`${owner}${size}`);
        given.push(done);
      });
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    for (const owner of ["a", "a", "a", "b"]) take(owner, 1);
    take("c", 9);
    take("d", 1);
    take("e", 1, true);
    take("f", 1, true);
    await settle();
    // The third of a's waits for another one of a's and is skipped. c's takes the maximum size.
    expect([had, turns.waitingOf("a")]).toEqual([["a1", "a1", "b1", "e1"], 1]);
    given.shift()?.();
    given.shift()?.();
    await settle();
    expect(had.slice(4)).toEqual(["f1", "a1"]);
    while (given.length > 0) {
      given.shift()?.();
      await settle();
    }
    expect(had.slice(6)).toEqual(["c9", "d1"]);
    const done = await turns.take("a", 2);
    done();
    done();
    await Promise.all([turns.take("a", 2), turns.take("b", 2)]);
    take("c", 1);
    await settle();
    expect(turns.waitingOf("c")).toBe(1);
  });
});

/** Memory of the processes that decode images, while hostile images are uploaded. */
import { execFile } from "node:child_process";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { heavyImages, type Image, lyingImages } from "../support/hostile-images.ts";
import { jpeg, picture, RED } from "../support/images.ts";

const run = promisify(execFile);
/** Made before the first request, because it takes seconds: an idle connection would be closed in that time. */
const HEAVY = Object.entries(heavyImages());
const { platform, as } = await fileAdmin({});
const ORB = "memory-gallery";
const base = `/api/${ORB}/files`;
let member: string;

beforeAll(async () => {
  const made = await as("POST", "/api/admin/orbs?publish=true", {
    id: ORB,
    modules: [
      {
        id: "pictures",
        type: "CONTENT",
        schemas: [
          {
            id: "picture",
            access: { read: "user", write: "user" },
            fields: [{ name: "image", type: "file", variants: [{ w: 40, h: 40 }] }],
          },
        ],
      },
    ],
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  member = (await user(platform)).token;
});

/** Resident bytes of this process and of all its descendants that run JavaScript. */
async function residentBytes(): Promise<number> {
  const { stdout } = await run("ps", ["-axo", "pid=,ppid=,rss=,args="]);
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const family = new Set([String(process.pid)]);
  for (let before = 0; before < family.size; ) {
    before = family.size;
    for (const [pid = "", parent = ""] of rows) if (family.has(parent)) family.add(pid);
  }
  return rows
    .filter(([pid = "", , , ...args]) => family.has(pid) && /node|workerd/.test(args.join(" ")))
    .reduce((sum, [, , kib]) => sum + Number(kib) * 1024, 0);
}

/** Returns by how many bytes the memory grew at most, and how much of that was left at the end. */
async function growthDuring(work: () => Promise<unknown>): Promise<{ peak: number; after: number }> {
  const before = await residentBytes();
  let peak = before;
  let isOver = false;
  const watch = (async () => {
    while (!isOver) {
      peak = Math.max(peak, await residentBytes());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  await work().finally(() => {
    isOver = true;
  });
  await watch;
  return { peak: peak - before, after: (await residentBytes()) - before };
}

/** Sends a request over a connection of its own: the platform closes one that is idle while an image is decoded. */
function send(method: string, path: string, body?: Image): Promise<Response> {
  const { port } = new URL(platform.origin);
  const headers = { authorization: `Bearer ${member}`, connection: "close" };
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, method, headers }, (answer) => {
      const status = answer.statusCode ?? 0;
      buffer(answer).then((content) => resolve(new Response(content, { status })), reject);
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

/** Uploads an image and requests a variant. Returns the variant's status. */
async function variantOf(body: Image): Promise<number> {
  const { id } = (await (await send("POST", base, body)).json()) as { id: string };
  return (await send("GET", `${base}/${id}?w=40&h=40`)).status;
}

const MIB = 1024 * 1024;

test("images whose header and content differ cost no memory", async () => {
  await variantOf(new Uint8Array(await jpeg(picture(90, 90, RED))));
  const { peak } = await growthDuring(async () => {
    for (const [name, image] of Object.entries(lyingImages())) {
      expect([name, await variantOf(image)]).toEqual([name, 422]);
    }
  });
  expect(peak / MIB).toBeLessThan(250);
});

test("images that need much memory keep to their limit, and leave none behind", async () => {
  const { peak, after } = await growthDuring(async () => {
    for (const [name, image] of HEAVY) {
      expect([name, await variantOf(image)]).toEqual([name, expect.toBeOneOf([200, 422])]);
    }
  });
  expect(peak / MIB).toBeLessThan(700);
  expect(after / MIB).toBeLessThan(400);
});

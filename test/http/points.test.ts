/** Points, filters by distance and area, and their order, with and without an index. */
import { beforeAll, describe, expect, test } from "vitest";
import { distance, type Point } from "../../shared/definition/fields/parts/geo.ts";
import { adminToken } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sending } from "../support/sending.ts";

const document = {
  id: "atlas",
  modules: [
    {
      id: "map",
      type: "CONTENT",
      schemas: [
        {
          id: "spot",
          fields: [
            { name: "name", type: "string" },
            { name: "place", type: "point", index: "ordered" },
            { name: "plain", type: "point" },
            { name: "stops", type: "point", list: true },
            { name: "kind", type: "string", enum: ["a", "b"] },
            { name: "inside", type: "object", fields: [{ name: "at", type: "point", index: "ordered" }] },
          ],
        },
      ],
    },
  ],
};

let platform: TestPlatform;
let token: string;
const base = "/api/atlas/map";
const BERLIN = { lat: 52.52, lon: 13.405 };

const { ask, send } = sending(() => ({ platform, token }));

const spot = (name: string, place: Point, more: object = {}) =>
  send("POST", `${base}?publish=true`, {
    values: { name, place, plain: place, inside: { at: place }, ...more },
  });

async function names(query: string): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: { values: { name: string } }[]; nextCursor: string | null } = await send(
      "GET",
      `${base}?${query}${cursor === null ? "" : `&cursor=${cursor}`}`,
    );
    found.push(...page.items.map(({ values }) => values.name));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return found;
}

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  await send("POST", "/api/admin/orbs?publish=true", document);
});

describe("values", () => {
  test("are exact, and refused outside of the earth", async () => {
    const place = { lat: 52.516274838, lon: -0.000001 };
    const { values } = await send("POST", base, {
      values: { place, stops: [place, { lat: -90, lon: 180 }] },
    });
    expect(values).toMatchObject({ place, stops: [place, { lat: -90, lon: 180 }] });
    const wrong = await ask("POST", base, {
      values: {
        place: { lat: 90.1, lon: "1" },
        plain: [1, 2],
        stops: [{ lat: 1 }, { lat: 1, lon: 2, alt: 3 }],
      },
    });
    expect(wrong.body.errors.map(({ path, code }: Record<string, string>) => [path, code])).toEqual([
      ["/values/place/lat", "range"],
      ["/values/place/lon", "type"],
      ["/values/plain", "type"],
      ["/values/stops/0/lon", "required"],
      ["/values/stops/1", "unknown_property"],
    ]);
  });
});

describe("queries", () => {
  const all = new Map<string, Point>();
  beforeAll(async () => {
    for (let at = 0; at < 30; at++) {
      // A spiral around Berlin: 1 km, 2 km, …
      const turn = at * 2.4;
      const place = {
        lat: BERLIN.lat + ((at + 1) * Math.cos(turn)) / 111.195,
        lon: BERLIN.lon + ((at + 1) * Math.sin(turn)) / (111.195 * Math.cos((BERLIN.lat * Math.PI) / 180)),
      };
      all.set(`s${at}`, place);
    }
    for (const [name, place] of [...all].reverse())
      await spot(name, place, { kind: Number(name.slice(1)) % 2 === 0 ? "a" : "b" });
    await spot("suva", { lat: -18.14, lon: 178.44 });
    await spot("apia", { lat: -13.83, lon: -171.77 });
    await spot("north", { lat: 89.9, lon: 0 });
    await spot("norther", { lat: 89.95, lon: 180 });
  });

  const within = (metres: number) =>
    [...all]
      .map(([name, place]) => ({ name, away: distance(BERLIN, place) }))
      .filter(({ away }) => away <= metres)
      .sort((a, b) => a.away - b.away)
      .map(({ name }) => name);

  test.each(["place", "plain", "inside.at"])(
    "find the nearest entries first by %s, page by page",
    async (field) => {
      for (const km of [0.5, 5.5, 12, 40]) {
        const near = `filter[${field}][near]=52.52,13.405,${km}km`;
        expect(await names(`${near}&limit=4`)).toEqual(within(km * 1000));
      }
      expect(await names(`filter[${field}][near]=52.52,13.405,20km&filter[kind]=b&limit=3`)).toEqual(
        within(20_000).filter((name) => Number(name.slice(1)) % 2 === 1),
      );
    },
  );

  test.each(["place", "plain"])("cross the 180th meridian and the poles by %s", async (field) => {
    expect(await names(`filter[${field}][near]=-16,-179,1200km`)).toEqual(["suva", "apia"]);
    expect(await names(`filter[${field}][near]=89.99,-90,30km`)).toEqual(["norther", "north"]);
    expect(await names(`filter[${field}][within]=-20,170,-10,-170&sort=name`)).toEqual(["apia", "suva"]);
    expect(await names(`filter[${field}][within]=52.5,13.39,52.53,13.42&sort=name`)).toEqual(
      within(3_000)
        .filter((name) => {
          const place = all.get(name);
          return place && place.lat >= 52.5 && place.lat <= 52.53 && place.lon >= 13.39 && place.lon <= 13.42;
        })
        .sort(),
    );
  });

  test("use the index, count, aggregate and take another order", async () => {
    const near = "filter[place][near]=52.52,13.405,10.5km";
    const { explain, total } = await send("GET", `${base}?${near}&explain=true&count=true&limit=3`);
    expect(total).toBe(10);
    expect(explain).toMatchObject({ index: "ordered", fields: ["place"] });
    expect(explain.read).toBeLessThan(10);
    expect(await names(`${near}&sort=-name&limit=3`)).toEqual(within(10_500).sort().reverse());
    const { groups } = await send("GET", `${base}?${near}&aggregate[n]=count&group=kind`);
    expect(groups).toEqual([
      { key: { kind: "a" }, values: { n: 5 } },
      { key: { kind: "b" }, values: { n: 5 } },
    ]);
  });

  test("follow a change of the place, and leave it with the entry", async () => {
    const { id } = await spot("mover", { lat: 10, lon: 10 });
    expect(await names("filter[place][near]=10,10,1km")).toEqual(["mover"]);
    await send("PATCH", `${base}/${id}?publish=true`, { values: { place: { lat: 20, lon: 20 } } });
    expect(await names("filter[place][near]=10,10,1km")).toEqual([]);
    expect(await names("filter[place][near]=20,20,1m")).toEqual(["mover"]);
    await send("DELETE", `${base}/${id}`);
    expect(await names("filter[place][near]=20,20,1km")).toEqual([]);
  });

  test("take the nearest point of a list, and groups", async () => {
    await spot(
      "line",
      { lat: 30, lon: 30 },
      {
        stops: [
          { lat: 31, lon: 31 },
          { lat: 32, lon: 32 },
        ],
      },
    );
    await spot("line2", { lat: 30, lon: 30 }, { stops: [{ lat: 31.5, lon: 31.5 }] });
    expect(await names("filter[stops][near]=32,32,1000km")).toEqual(["line", "line2"]);
    expect(await names("filter[stops][near]=31.4,31.4,1000km")).toEqual(["line2", "line"]);
    const either =
      "filter[or][0][place][near]=52.52,13.405,1500m&filter[or][1][place][near]=-18.14,178.44,1km";
    expect((await names(`${either}&sort=name`)).sort()).toEqual(["s0", "suva"]);
  });

  test("refuse other forms, orders and operators", async () => {
    for (const query of [
      "filter[place][near]=1,2,3",
      "filter[place][near]=91,2,3km",
      "filter[place]=1,2",
      "filter[place][within]=3,2,1,4",
      "sort=place",
    ]) {
      const { status, body } = await ask("GET", `${base}?${query}`);
      expect([status, body.code], query).toEqual([400, "invalid_parameter"]);
    }
  });
});

/** Areas and the index of points: every point of an area is in its ranges, also around the poles and the 180th meridian. */
import { describe, expect, test } from "vitest";
import {
  type Area,
  boxArea,
  distance,
  indexText,
  type Point,
  pointInText,
  rangesOf,
  readBox,
  readNear,
  ring,
} from "../../shared/definition/fields/parts/geo.ts";
import { seededRandom } from "../support/random.ts";

const { next: random } = seededRandom(44);
const degrees = (radians: number) => (radians * 180) / Math.PI;
/** Points spread evenly over the earth, and points at its seams. */
const points: Point[] = [
  ...Array.from({ length: 5_000 }, () => ({
    lat: degrees(Math.asin(2 * random() - 1)),
    lon: random() * 360 - 180,
  })),
  ...Array.from({ length: 50 }, () => [
    { lat: 90, lon: random() * 360 - 180 },
    { lat: -90, lon: random() * 360 - 180 },
    { lat: random() * 180 - 90, lon: 180 },
    { lat: random() * 180 - 90, lon: -180 },
    { lat: 89 + random(), lon: random() * 360 - 180 },
  ]).flat(),
];
const texts = points.map(indexText);

function missed(area: Area): Point[] {
  const ranges = rangesOf(area);
  return points.filter((point, at) => {
    const text = texts[at] ?? "";
    return area.has(point) && !ranges.some(({ from, to }) => text >= from && text < to);
  });
}

const centres: Point[] = [
  { lat: 90, lon: 0 },
  { lat: -90, lon: 30 },
  { lat: 0, lon: 180 },
  { lat: 0, lon: -180 },
  { lat: 60, lon: 179.9 },
  { lat: 89.5, lon: -179 },
  { lat: 52.5, lon: 13.4 },
];

describe("ranges", () => {
  test.each(centres)("contain all points of rings around $lat, $lon", (centre) => {
    for (const to of [0, 1_000, 100_000, 5_000_000, 20_015_000])
      for (const from of [0, to * 0.9]) expect(missed(ring(centre, from, to))).toEqual([]);
  });

  test("contain all points of boxes", () => {
    for (let round = 0; round < 60; round++) {
      const south = random() * 180 - 90;
      const north = south + random() * (90 - south);
      const box = {
        south: round % 7 === 0 ? -90 : south,
        north: round % 5 === 0 ? 90 : north,
        west: random() * 360 - 180,
        east: random() * 360 - 180,
      };
      expect(missed(boxArea(box)), JSON.stringify(box)).toEqual([]);
    }
  });

  test("are few, and not much larger than the area", () => {
    const area = ring({ lat: 52.55, lon: 13.45 }, 0, 2_000);
    const near = Array.from({ length: 2_000 }, () => ({
      lat: 52.5 + random() * 0.1,
      lon: 13.4 + random() * 0.1,
    }));
    const ranges = rangesOf(area);
    const read = near.filter((point) =>
      ranges.some(({ from, to }) => indexText(point) >= from && indexText(point) < to),
    );
    expect(ranges.length).toBeLessThan(25);
    expect(read.length).toBeLessThan(3 * near.filter((point) => area.has(point)).length);
  });
});

test("texts of the index keep points exactly", () => {
  for (const [at, point] of points.entries()) expect(pointInText(texts[at] ?? "")).toEqual(point);
});

test("distances are those of the sphere", () => {
  expect(Math.round(distance({ lat: 52.5, lon: 13.4 }, { lat: 48.85, lon: 2.35 }) / 1000)).toBe(877);
  expect(distance({ lat: 0, lon: 179.999 }, { lat: 0, lon: -179.999 })).toBeLessThan(223);
  expect(distance({ lat: 90, lon: 10 }, { lat: 90, lon: -120 })).toBeLessThan(0.001);
});

test("boxes may cross the 180th meridian, whose two names mean the same", () => {
  const fiji = boxArea({ south: -21, west: 176, north: -12, east: -178 });
  const has = (lon: number) => fiji.has({ lat: -17, lon });
  expect([177, 180, -180, -179, 0, -177].map(has)).toEqual([true, true, true, true, false, false]);
});

test("filters name a distance with its unit, and the sides of a box", () => {
  expect(readNear("52.5,13.4,10km")).toEqual({ lat: 52.5, lon: 13.4, metres: 10_000 });
  expect(readNear("-0.5, 13, 500 m")).toEqual({ lat: -0.5, lon: 13, metres: 500 });
  expect(readNear("1,2,1mi")?.metres).toBeCloseTo(1609.344);
  for (const text of [
    "1,2,3",
    "91,0,1m",
    "0,181,1m",
    "1,2,-1m",
    "1,2",
    "a,b,1km",
    "1e2,0,1m",
    "",
    "1,2,3,4km",
  ])
    expect(readNear(text), text).toBeUndefined();
  expect(readBox("1,2,3,4")).toEqual({ south: 1, west: 2, north: 3, east: 4 });
  for (const text of ["3,2,1,4", "1,2,3", "-91,0,0,0", "0,0,0,181", "1,2,3,x"])
    expect(readBox(text), text).toBeUndefined();
});

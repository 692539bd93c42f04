/** The map of a list: what is where, which places are one group, and that zooming and fitting keep what they should. */
import { describe, expect, test } from "vitest";
import {
  CLOSEST,
  type Frame,
  fitted,
  gridOf,
  groupsOf,
  isPoint,
  isVisible,
  landPath,
  project,
  spotOf,
  within,
  zoomed,
} from "../../functions/console/entries/table/layouts/map-view.ts";
import { landRings } from "../../functions/console/entries/table/layouts/world.ts";

const size = { width: 800, height: 500 };
const world = fitted(size, []);
const berlin = { lat: 52.5, lon: 13.4 };
const potsdam = { lat: 52.4, lon: 13.06 };
const sydney = { lat: -33.9, lon: 151.2 };
const placed = (...points: { lat: number; lon: number }[]) => points.map((point) => ({ item: point, point }));

test("accepts points only", () => {
  expect(isPoint(berlin)).toBe(true);
  for (const value of [null, undefined, "52.5, 13.4", { lat: 1 }, { lat: "1", lon: 1 }])
    expect(isPoint(value)).toBe(false);
});

test("shows all points within its margins, and the poles at its edges", () => {
  const frame = fitted(size, [berlin, sydney, { lat: 90, lon: 0 }]);
  for (const point of [berlin, sydney]) {
    const { left, top } = spotOf(frame, project(point));
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left).toBeLessThanOrEqual(size.width);
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThanOrEqual(size.height);
  }
  expect(project({ lat: 90, lon: 0 })).toEqual(project({ lat: 85, lon: 0 }));
});

test("of a single place shows what is around it, and not the closest part", () => {
  const frame = fitted(size, [berlin]);
  expect(spotOf(frame, project(berlin))).toEqual({ left: size.width / 2, top: size.height / 2 });
  expect(frame.scale).toBeLessThan(CLOSEST);
});

test("zooms around a spot, which stays where it is, within its limits", () => {
  const at = spotOf(world, project(berlin));
  const closer = zoomed(world, 8, at);
  expect(spotOf(closer, project(berlin)).left).toBeCloseTo(at.left, 6);
  expect(spotOf(closer, project(berlin)).top).toBeCloseTo(at.top, 6);
  expect(zoomed(world, 0.1).scale).toBe(size.width);
  expect(zoomed(closer, 1e9).scale).toBe(CLOSEST);
  expect(within({ ...closer, x: -3, y: 7 })).toMatchObject({ x: 0, y: 1 });
});

describe("groups", () => {
  const counts = (frame: Frame) =>
    groupsOf(placed(berlin, potsdam, sydney), frame.scale)
      .filter((group) => isVisible(frame, spotOf(frame, group)))
      .map(({ items }) => items.length);

  test("have what is close, and come apart when the map comes closer", () => {
    expect(counts(world).sort()).toEqual([1, 2]);
    expect(counts(fitted(size, [berlin, potsdam]))).toEqual([1, 1]);
  });

  test("have each place once, and none that is far from the others of its group", () => {
    const many = Array.from({ length: 500 }, (_, at) => ({
      lat: ((at * 7) % 160) - 80,
      lon: ((at * 13) % 360) - 180,
    }));
    const groups = groupsOf(placed(...many), world.scale);
    expect(groups.flatMap(({ items }) => items)).toHaveLength(500);
    expect(new Set(groups.flatMap(({ items }) => items))).toEqual(new Set(many));
    for (const { points, ...middle } of groups)
      for (const point of points) {
        const [one, other] = [spotOf(world, project(point)), spotOf(world, middle)];
        expect(Math.hypot(one.left - other.left, one.top - other.top)).toBeLessThan(2 * 44);
      }
  });
});

test("has a grid at every distance, with few lines", () => {
  for (let scale = 800; scale <= CLOSEST; scale *= 2) {
    const { meridians, parallels } = gridOf(within({ ...world, ...project(berlin), scale }));
    expect(meridians.length + parallels.length).toBeGreaterThan(0);
    expect(meridians.length).toBeLessThan(30);
    for (const [, left] of meridians) expect(left).toBeGreaterThanOrEqual(-1);
  }
});

test("has the land: each ring is on the earth, and known places are inside or outside", () => {
  const rings = landRings();
  expect(rings.length).toBeGreaterThan(50);
  for (const [lon, lat] of rings.flat()) expect(Math.abs(lon) <= 180.5 && Math.abs(lat) <= 90).toBe(true);
  /** Whether a ray to the east crosses the coast an odd number of times. */
  const isLand = ({ lat, lon }: { lat: number; lon: number }) =>
    rings.reduce((inside, ring) => {
      for (const [at, [x, y]] of ring.entries()) {
        const [nextX, nextY] = ring[(at + 1) % ring.length] ?? [0, 0];
        if (y > lat !== nextY > lat && lon < ((nextX - x) * (lat - y)) / (nextY - y) + x) inside = !inside;
      }
      return inside;
    }, false);
  expect([berlin, { lat: 0, lon: 25 }, { lat: -25, lon: 135 }, { lat: 40, lon: -100 }].map(isLand)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(
    [
      { lat: 0, lon: -30 },
      { lat: 30, lon: -150 },
      { lat: -40, lon: 80 },
    ].map(isLand),
  ).toEqual([false, false, false]);
  expect(landPath()).toMatch(/^M-?\d+ \d+L/);
});

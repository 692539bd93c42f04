/** Where things are on a map: the projection, the visible part, and groups of places that are close to each other. */
import { landRings } from "./world.ts";

export interface Point {
  lat: number;
  lon: number;
}

/** The visible part of the earth. Lengths are those of the projected earth, whose side is 1. */
export interface Frame {
  /** The middle. */
  x: number;
  y: number;
  /** Pixels of the whole earth. */
  scale: number;
  width: number;
  height: number;
}

/** A position in pixels from the upper left corner of the visible part. */
export interface Spot {
  left: number;
  top: number;
}

/** The projection has no poles. Places beyond this latitude are shown at it. */
const MOST_LAT = 85;
/** Pixels of the whole earth at the closest: a pixel is about two meters. */
export const CLOSEST = 2 ** 24;
/** Pixels between places of one group, at most. */
const GROUP = 44;
/** Pixels around all places. */
const MARGIN = 40;
/** Pixels of the whole earth around a single place: a pixel is about a kilometer. */
const ONE_PLACE = 2 ** 15;

export const isPoint = (value: unknown): value is Point =>
  typeof value === "object" &&
  value !== null &&
  "lat" in value &&
  "lon" in value &&
  typeof value.lat === "number" &&
  typeof value.lon === "number";

/** Returns the Mercator projection of a point. The side of the earth is 1. */
export function project({ lat, lon }: Point): { x: number; y: number } {
  const angle = (Math.max(-MOST_LAT, Math.min(MOST_LAT, lat)) * Math.PI) / 180;
  return { x: (lon + 180) / 360, y: (1 - Math.asinh(Math.tan(angle)) / Math.PI) / 2 };
}

export const spotOf = (frame: Frame, { x, y }: { x: number; y: number }): Spot => ({
  left: (x - frame.x) * frame.scale + frame.width / 2,
  top: (y - frame.y) * frame.scale + frame.height / 2,
});

/** Returns a frame that is possible: the earth fills its width, and its middle is on the earth. */
export function within(frame: Frame): Frame {
  const inside = (value: number) => Math.max(0, Math.min(1, value));
  const scale = Math.max(frame.width, Math.min(CLOSEST, frame.scale));
  return { ...frame, scale, x: inside(frame.x), y: inside(frame.y) };
}

/** Returns a frame that is closer or wider by a factor. @param at stays where it is; default: the middle */
export function zoomed(frame: Frame, factor: number, at?: Spot): Frame {
  const { left, top } = at ?? { left: frame.width / 2, top: frame.height / 2 };
  const { scale } = within({ ...frame, scale: frame.scale * factor });
  const moved = 1 / frame.scale - 1 / scale;
  return within({
    ...frame,
    scale,
    x: frame.x + (left - frame.width / 2) * moved,
    y: frame.y + (top - frame.height / 2) * moved,
  });
}

export const panned = (frame: Frame, left: number, top: number): Frame =>
  within({ ...frame, x: frame.x + left / frame.scale, y: frame.y + top / frame.scale });

/** Returns the frame that shows all points. Without points, that is the whole earth. */
export function fitted({ width, height }: Pick<Frame, "width" | "height">, points: readonly Point[]): Frame {
  if (points.length === 0) return within({ x: 0.5, y: 0.4, scale: width, width, height });
  const spots = points.map(project);
  const [xs, ys] = [spots.map(({ x }) => x), spots.map(({ y }) => y)];
  const [west, east, north, south] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = (length: number) => Math.max(1, length - 2 * MARGIN);
  const isOne = east === west && south === north;
  const scale = isOne ? ONE_PLACE : Math.min(room(width) / (east - west), room(height) / (south - north));
  return within({ x: (west + east) / 2, y: (north + south) / 2, scale, width, height });
}

/** Places that are so close to each other that they have one mark, and their middle. */
export interface Group<T> {
  x: number;
  y: number;
  items: T[];
  points: Point[];
}

/**
 * Returns the groups of places. They depend on how close the map is, and not on which part of it is visible.
 * @param scale pixels of the whole earth
 */
export function groupsOf<T>(places: readonly { item: T; point: Point }[], scale: number): Group<T>[] {
  const side = GROUP / scale;
  /** For each square: the groups whose first place is in it. */
  const squares = new Map<string, { first: { x: number; y: number }; group: Group<T> }[]>();
  const groups: Group<T>[] = [];
  for (const { item, point } of places) {
    const { x, y } = project(point);
    const [column, row] = [Math.floor(x / side), Math.floor(y / side)];
    const near = NEIGHBOURS.flatMap(([right, down]) => squares.get(`${column + right} ${row + down}`) ?? []);
    const found = near.find(({ first }) => Math.hypot(first.x - x, first.y - y) < side)?.group;
    const group = found ?? { x: 0, y: 0, items: [], points: [] };
    const count = group.items.push(item);
    group.points.push(point);
    group.x += (x - group.x) / count;
    group.y += (y - group.y) / count;
    if (found !== undefined) continue;
    groups.push(group);
    const key = `${column} ${row}`;
    squares.set(key, [...(squares.get(key) ?? []), { first: { x, y }, group }]);
  }
  return groups;
}

const NEIGHBOURS = [-1, 0, 1].flatMap((right) => [-1, 0, 1].map((down) => [right, down] as const));

/** Returns whether a spot is in the visible part. */
export const isVisible = ({ width, height }: Frame, { left, top }: Spot): boolean =>
  left >= 0 && top >= 0 && left <= width && top <= height;

/** Degrees between lines of the grid. */
const STEPS = [30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
/** Pixels between lines of the grid, at least. */
const LINE = 90;

/** Returns the lines of the grid of degrees in the visible part. */
export function gridOf(frame: Frame): {
  meridians: [lon: number, left: number][];
  parallels: [lat: number, top: number][];
} {
  const step = STEPS.findLast((degrees) => (degrees / 360) * frame.scale >= LINE) ?? 30;
  const reach = { x: frame.width / 2 / frame.scale, y: frame.height / 2 / frame.scale };
  const latOf = (y: number) => (Math.atan(Math.sinh((1 - 2 * y) * Math.PI)) * 180) / Math.PI;
  const lonOf = (x: number) => x * 360 - 180;
  const between = (least: number, most: number, limit: number) => {
    const first = Math.ceil(Math.max(-limit, least) / step);
    const last = Math.floor(Math.min(limit, most) / step);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) =>
      Number(((first + at) * step).toFixed(3)),
    );
  };
  return {
    meridians: between(lonOf(frame.x - reach.x), lonOf(frame.x + reach.x), 180).map((lon) => [
      lon,
      spotOf(frame, project({ lat: 0, lon })).left,
    ]),
    parallels: between(latOf(frame.y + reach.y), latOf(frame.y - reach.y), 80).map((lat) => [
      lat,
      spotOf(frame, project({ lat, lon: 0 })).top,
    ]),
  };
}

/** The side of the earth in the path of the land. */
export const LAND_SIDE = 10_000;

/** Returns a ring that continues beyond the 180th meridian where it crosses it. */
function unwrapped(ring: readonly [lon: number, lat: number][]): [lon: number, lat: number][] {
  let turn = 0;
  let before = ring[0]?.[0] ?? 0;
  const points = ring.map(([lon, lat]): [number, number] => {
    if (Math.abs(lon - before) > 180) turn += lon < before ? 360 : -360;
    before = lon;
    return [lon + turn, lat];
  });
  const [first, last] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
  // A ring around a pole ends where it began, a turn of the earth later. So it goes by the pole.
  return Math.abs(last - first) > 180 ? [...points, [last, -90], [first, -90]] : points;
}

/** Returns the path of the land, as SVG has it. What is beyond the 180th meridian must be shown on the other side too. */
export function landPath(): string {
  const places = landRings().map((ring) =>
    unwrapped(ring).map(([lon, lat]) => {
      const { x, y } = project({ lon, lat });
      return `${Math.round(x * LAND_SIDE)} ${Math.round(y * LAND_SIDE)}`;
    }),
  );
  return places.map((ring) => `M${ring.join("L")}Z`).join("");
}

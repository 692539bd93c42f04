/**
 * Points on the earth, distances, and areas. Cells divide the world: each cell has four parts, and the key of a part is
 * the key of its cell with another digit. So the points of a cell are a range of texts.
 */

// Types and not interfaces: these values are stored in conditions as JSON.
export type Point = {
  /** Degrees north of the equator, -90 to 90. */
  lat: number;
  /** Degrees east of Greenwich, -180 to 180. */
  lon: number;
};

/** Mean radius of the earth in metres. Distances on this sphere differ by at most 0.6 % from those on the ellipsoid. */
const RADIUS = 6_371_008.8;
/** Half of the earth's circumference: no two points are farther apart. */
const FARTHEST = Math.PI * RADIUS;
/** Digits of the key of a point. The smallest cells are about one metre high. */
const DIGITS = 24;
/** An area is covered by about this many cells. More cells fit better, but each one is a read of an index. */
const MOST_CELLS = 24;

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** Returns the great-circle distance in metres. */
export function distance(a: Point, b: Point): number {
  const [from, to] = [radians(a.lat), radians(b.lat)];
  const north = Math.sin((to - from) / 2);
  const east = Math.sin(radians(b.lon - a.lon) / 2);
  const chord = north * north + Math.cos(from) * Math.cos(to) * east * east;
  return 2 * RADIUS * Math.asin(Math.min(1, Math.sqrt(chord)));
}

interface Cell {
  key: string;
  south: number;
  west: number;
  north: number;
  east: number;
}

const WORLD: Cell = { key: "", south: -90, west: -180, north: 90, east: 180 };

function partsOf({ key, south, west, north, east }: Cell): Cell[] {
  const lat = (south + north) / 2;
  const lon = (west + east) / 2;
  return [
    { key: `${key}0`, south, west, north: lat, east: lon },
    { key: `${key}1`, south, west: lon, north: lat, east },
    { key: `${key}2`, south: lat, west, north, east: lon },
    { key: `${key}3`, south: lat, west: lon, north, east },
  ];
}

/** Returns the key of the smallest cell that contains a point. */
export function cellKey({ lat, lon }: Point): string {
  let { key, south, west, north, east } = WORLD;
  while (key.length < DIGITS) {
    const middle = { lat: (south + north) / 2, lon: (west + east) / 2 };
    const isNorth = lat >= middle.lat;
    const isEast = lon >= middle.lon;
    key += (isNorth ? 2 : 0) + (isEast ? 1 : 0);
    [south, north] = isNorth ? [middle.lat, north] : [south, middle.lat];
    [west, east] = isEast ? [middle.lon, east] : [west, middle.lon];
  }
  return key;
}

/** Returns the text under which an index lists a point: its cell, and the exact point. */
export const indexText = (point: Point): string => `${cellKey(point)} ${point.lat},${point.lon}`;

/** Reads the point in a text of {@link indexText}. */
export function pointInText(text: string): Point | undefined {
  const [lat, lon] = text
    .slice(DIGITS + 1)
    .split(",")
    .map(Number);
  return lat === undefined || lon === undefined || Number.isNaN(lat + lon) ? undefined : { lat, lon };
}

/** Returns the distance in metres to the part of a meridian between two latitudes. */
function toMeridian(point: Point, lon: number, south: number, north: number): number {
  const turn = radians(lon - point.lon);
  const ends = [south, north].map((lat) => distance(point, { lat, lon }));
  if (Math.cos(turn) <= 0) return Math.min(...ends);
  // The nearest point of the whole meridian.
  const nearest = (Math.atan2(Math.tan(radians(point.lat)), Math.cos(turn)) * 180) / Math.PI;
  return nearest > south && nearest < north ? distance(point, { lat: nearest, lon }) : Math.min(...ends);
}

/** Returns the distance in metres from a point to the nearest point of a cell. */
function toCell(point: Point, { south, west, north, east }: Cell): number {
  if (point.lon >= west && point.lon <= east) {
    const lat = Math.min(north, Math.max(south, point.lat));
    return distance(point, { lat, lon: point.lon });
  }
  return Math.min(toMeridian(point, west, south, north), toMeridian(point, east, south, north));
}

const opposite = ({ lat, lon }: Point): Point => ({ lat: -lat, lon: lon > 0 ? lon - 180 : lon + 180 });

/** `out`: no point of a cell belongs to the area. `in`: all points do. `part`: some may. */
type Overlap = "out" | "in" | "part";

/** An area on the earth. */
export interface Area {
  has(point: Point): boolean;
  overlap(cell: Cell): Overlap;
}

/** Returns the area between two distances in metres from a point. */
export function ring(centre: Point, from: number, to: number): Area {
  const across = opposite(centre);
  return {
    has(point) {
      const away = distance(centre, point);
      return away >= from && away <= to;
    },
    overlap(cell) {
      // Rounding must not exclude a point, so cells count as slightly larger than they are.
      const least = toCell(centre, cell) - 0.001;
      const most = FARTHEST - toCell(across, cell) + 0.001;
      if (least > to || most < from) return "out";
      return least >= from && most <= to ? "in" : "part";
    },
  };
}

export type Box = { south: number; west: number; north: number; east: number };

/** Returns the area between two latitudes and two longitudes. If `west` is greater than `east`, it crosses the 180th meridian. */
export function boxArea({ south, west, north, east }: Box): Area {
  const crosses = west > east;
  const spans: [west: number, east: number][] = crosses
    ? [
        [west, 180],
        [-180, east],
      ]
    : [[west, east]];
  // Both names of the 180th meridian mean the same points, and at a pole all longitudes do.
  const names = (lon: number) => (Math.abs(lon) === 180 ? [-180, 180] : [lon]);
  return {
    has: ({ lat, lon }) =>
      lat >= south &&
      lat <= north &&
      (Math.abs(lat) === 90 ||
        names(lon).some((one) => spans.some(([from, to]) => one >= from && one <= to))),
    overlap(cell) {
      if (cell.north < south || cell.south > north) return "out";
      const atPole = (cell.north === 90 && north === 90) || (cell.south === -90 && south === -90);
      const atEdge = Math.abs(cell.west) === 180 || Math.abs(cell.east) === 180;
      const meets = spans.some(([from, to]) => cell.east >= from && cell.west <= to);
      if (!meets)
        return atPole || (atEdge && spans.some(([from, to]) => from === -180 || to === 180)) ? "part" : "out";
      const inside = spans.some(([from, to]) => cell.west >= from && cell.east <= to);
      return inside && cell.south >= south && cell.north <= north ? "in" : "part";
    },
  };
}

/** Returns ranges of index texts that contain all points of an area, in order: the first text, and one after the last. */
export function rangesOf(area: Area): { from: string; to: string }[] {
  let open: Cell[] = [WORLD];
  const done: string[] = [];
  while (open.length > 0) {
    const parts = open.flatMap(partsOf).filter((cell) => area.overlap(cell) !== "out");
    const isFine = parts.some(({ key }) => key.length === DIGITS);
    if (done.length + parts.length > MOST_CELLS && open[0]?.key !== "") {
      done.push(...open.map(({ key }) => key));
      break;
    }
    open = [];
    for (const cell of parts) {
      if (isFine || area.overlap(cell) === "in") done.push(cell.key);
      else open.push(cell);
    }
  }
  const ranges: { from: string; to: string }[] = [];
  for (const key of done.sort()) {
    // All digits come before a colon.
    const to = key === "" ? ":" : key.slice(0, -1) + String.fromCharCode(key.charCodeAt(key.length - 1) + 1);
    const last = ranges.at(-1);
    if (last !== undefined && follows(last.to, key)) last.to = to;
    else ranges.push({ from: key, to });
  }
  return ranges;
}

/** Returns whether no point is between the end of a range and the first text of a cell. */
function follows(end: string, key: string): boolean {
  return key.startsWith(end) && /^0*$/.test(key.slice(end.length));
}

/** A point, and a distance from it. */
export type Circle = Point & { metres: number };

const UNITS: Readonly<Record<string, number>> = { m: 1, km: 1_000, mi: 1_609.344 };
const NUMBER = /^-?\d{1,10}(?:\.\d{1,20})?$/;

function numbersIn(text: string, count: number): number[] | undefined {
  const parts = text.split(",").map((part) => part.trim());
  if (parts.length !== count || !parts.every((part) => NUMBER.test(part))) return undefined;
  return parts.map(Number);
}

export const isLatitude = (value: number): boolean => value >= -90 && value <= 90;
export const isLongitude = (value: number): boolean => value >= -180 && value <= 180;

/** Reads a point and a distance, such as `52.5,13.4,10km`. */
export function readNear(text: string): Circle | undefined {
  const [, numbers, unit = ""] = /^(.*?)\s*(m|km|mi)$/.exec(text.slice(0, 100)) ?? [];
  const [lat, lon, size] = numbersIn(numbers ?? "", 3) ?? [];
  const scale = UNITS[unit];
  if (lat === undefined || lon === undefined || size === undefined || scale === undefined) return undefined;
  if (!isLatitude(lat) || !isLongitude(lon) || size < 0) return undefined;
  return { lat, lon, metres: Math.min(size * scale, FARTHEST) };
}

/** Reads the south, west, north and east sides of an area, such as `52.3,13.1,52.7,13.8`. */
export function readBox(text: string): Box | undefined {
  const [south, west, north, east] = numbersIn(text, 4) ?? [];
  if (south === undefined || west === undefined || north === undefined || east === undefined)
    return undefined;
  const fits = [south, north].every(isLatitude) && [west, east].every(isLongitude) && south <= north;
  return fits ? { south, west, north, east } : undefined;
}

function members<Name extends string>(
  value: unknown,
  names: readonly Name[],
): Record<Name, number> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const numbers = names.map((name): unknown => Reflect.get(value, name));
  if (!numbers.every((one) => typeof one === "number")) return undefined;
  return Object.fromEntries(names.map((name, at) => [name, numbers[at]])) as Record<Name, number>;
}

/** Returns the point in a value. */
export const pointIn = (value: unknown): Point | undefined => members(value, ["lat", "lon"]);

/** Returns the point and the distance in a value of {@link readNear}. */
export const circleIn = (value: unknown): Circle | undefined => members(value, ["lat", "lon", "metres"]);

/** Returns the area in a value of {@link readNear} or {@link readBox}. */
export function areaIn(value: unknown): Area | undefined {
  const circle = circleIn(value);
  if (circle !== undefined) return ring(circle, 0, circle.metres);
  const box = members(value, ["south", "west", "north", "east"]);
  return box && boxArea(box);
}

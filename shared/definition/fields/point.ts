import { isObject } from "../../kernel/json.ts";
import { FIELD_TRAITS } from "../types/index.ts";
import { type FieldType, indexText, isLatitude, isLongitude, type Json, pointIn } from "./parts/index.ts";

/** A place on the earth, in degrees as WGS 84 and GPS use them. */
export const pointType: FieldType = {
  name: "point",
  ...FIELD_TRAITS.point,
  parse(value, report) {
    if (!isObject(value)) {
      report("type", 'must be an object with latitude and longitude: {"lat": 52.5, "lon": 13.4}');
      return undefined;
    }
    let sound = true;
    const degrees = (name: "lat" | "lon", most: number, fits: (degrees: number) => boolean): number => {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (typeof given === "number" && fits(given)) return given === 0 ? 0 : given;
      sound = false;
      const code = given === undefined ? "required" : typeof given === "number" ? "range" : "type";
      report(code, `must be a number of degrees from -${most} to ${most}`, `/${name}`);
      return 0;
    };
    const point = { lat: degrees("lat", 90, isLatitude), lon: degrees("lon", 180, isLongitude) };
    for (const name of Object.keys(value)) {
      if (name === "lat" || name === "lon") continue;
      sound = false;
      report("unknown_property", "must not have properties other than lat and lon");
      break;
    }
    return sound ? point : undefined;
  },
  fromText: () => undefined,
  rules: () => () => {},
  compare: () => 0,
  token(value: Json) {
    const point = pointIn(value);
    return point === undefined ? null : `p:${point.lat},${point.lon}`;
  },
  indexText(value) {
    const point = pointIn(value);
    return point === undefined ? undefined : indexText(point);
  },
  jsonSchema: () => ({
    type: "object",
    properties: {
      lat: { type: "number", minimum: -90, maximum: 90, description: "Degrees north of the equator." },
      lon: { type: "number", minimum: -180, maximum: 180, description: "Degrees east of Greenwich." },
    },
    required: ["lat", "lon"],
    additionalProperties: false,
  }),
};

/** The input for a place: latitude and longitude, and a link to a map. */
import { useRef } from "preact/hooks";
import { labelOf } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { readAmount, writtenAmount } from "./parts/amount.ts";
import type { FieldKind, InputProps } from "./parts/kind.ts";
import { TextInput } from "./parts/text-input.tsx";

type Parts = Readonly<Record<"lat" | "lon", unknown>>;

const partsOf = (value: unknown): Parts =>
  typeof value === "object" && value !== null
    ? { lat: Reflect.get(value, "lat") ?? null, lon: Reflect.get(value, "lon") ?? null }
    : { lat: null, lon: null };

/** Returns the point as text: `52.5, 13.4`. */
function shown(value: unknown): string {
  const { lat, lon } = partsOf(value);
  return typeof lat === "number" && typeof lon === "number" ? `${lat}, ${lon}` : "";
}

/** Two numbers with a comma between them, as maps copy a place. */
const PAIR = /^\s*(-?\d{1,3}(?:\.\d{1,20})?)[\s,;]+(-?\d{1,3}(?:\.\d{1,20})?)\s*$/;

function pairIn(text: string): Parts | undefined {
  const [, lat, lon] = PAIR.exec(text) ?? [];
  return lat === undefined || lon === undefined ? undefined : { lat: Number(lat), lon: Number(lon) };
}

const parseDegrees: FieldKind["parse"] = (text) => {
  const trimmed = text.trim();
  if (trimmed === "") return { value: null };
  const value = Number(readAmount(trimmed) ?? trimmed);
  return Number.isFinite(value) ? { value } : { message: t("fields.notNumber") };
};

function PointInput(props: InputProps) {
  const { field, value, onChange, attributes, disabled } = props;
  const parts = partsOf(value);
  const faults = useRef<Partial<Record<"lat" | "lon", string | undefined>>>({});
  const tell = (name: "lat" | "lon", message: string | undefined) => {
    faults.current = { ...faults.current, [name]: message };
    props.onFault?.(faults.current.lat ?? faults.current.lon);
  };
  const set = (next: Parts) => onChange(next.lat === null && next.lon === null ? null : next);
  const of = attributes["aria-label"] ?? labelOf(field);
  const text = shown(value);
  return (
    <div class="point">
      {(["lat", "lon"] as const).map((name) => (
        <TextInput
          key={name}
          {...props}
          attributes={{
            ...attributes,
            id: name === "lat" ? attributes.id : `${attributes.id}-${name}`,
            "aria-label": t(`fields.${name}`, { field: of }),
            dir: "ltr",
          }}
          value={parts[name]}
          placeholder={t(`fields.${name}Short`)}
          parse={(written) =>
            pairIn(written) === undefined ? parseDegrees(written, field) : { value: pairIn(written) }
          }
          print={writtenAmount}
          inputMode="decimal"
          onFault={(message) => tell(name, message)}
          onChange={(degrees) =>
            set(
              typeof degrees === "object" && degrees !== null
                ? partsOf(degrees)
                : { ...parts, [name]: degrees },
            )
          }
        />
      ))}
      {text === "" || disabled === true ? null : (
        <a
          href={`https://www.openstreetmap.org/?mlat=${parts.lat}&mlon=${parts.lon}#map=15/${parts.lat}/${parts.lon}`}
          target="_blank"
          rel="noreferrer"
        >
          {t("fields.map")}
        </a>
      )}
    </div>
  );
}

export const pointKind: FieldKind = {
  Cell: ({ value }) => <span class="number">{shown(value)}</span>,
  Input: PointInput,
  filterOps: ["near", "within", "null"],
  parse: (text) => {
    if (text.trim() === "") return { value: null };
    const pair = pairIn(text);
    return pair === undefined ? { message: t("fields.notPoint") } : { value: pair };
  },
  format: shown,
};

// biome-ignore-all lint/a11y/noNoninteractiveTabindex: keyboards must be able to move the map.
/**
 * A map of the entries by a point. It draws the land itself, and asks no other site for anything. The browser loads it
 * when it is first chosen.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type EntryItem, listEntries } from "../../../api/entries.ts";
import { labelOf, titleField } from "../../../model/orb.ts";
import { formatNumber, t } from "../../../texts/t.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Link } from "../../../ui/link.tsx";
import { ProblemBox } from "../../../ui/problem.tsx";
import { Loading } from "../../../ui/states.tsx";
import { nameOf } from "../data/names.ts";
import { narrow, storedValue } from "../data/view.ts";
import type { FrameProps } from "./frame.tsx";
import {
  CLOSEST,
  type Frame,
  fitted,
  type Group,
  gridOf,
  groupsOf,
  isPoint,
  isVisible,
  LAND_SIDE,
  landPath,
  type Point,
  panned,
  type Spot,
  spotOf,
  within,
  zoomed,
} from "./map-view.ts";

/** Entries of a request, and requests until the user asks for more. */
const PAGE = 200;
const PAGES = 5;
/** Entries of the list beside the map. */
const LISTED = 100;
/** Pixels by which a key moves the map. */
const STEP = 80;

interface Placed {
  item: EntryItem;
  point: Point;
}

interface Known {
  places: readonly Placed[];
  /** Cursor of the next page; null at the end. */
  next: string | null;
  error?: unknown;
}

/** Reads the entries that have a place. Stops after some pages, until it is asked for more. */
function usePlaces({ place, schema, conditions, version, layout: { field } }: FrameProps) {
  const [known, setKnown] = useState<Known>();
  const [asked, setAsked] = useState<{ cursor: string | null; attempt: number }>({
    cursor: null,
    attempt: 0,
  });
  const first = useRef(version);
  useEffect(() => {
    if (first.current === version) return;
    first.current = version;
    setAsked(({ attempt }) => ({ cursor: null, attempt: attempt + 1 }));
  }, [version]);
  useEffect(() => {
    const abort = new AbortController();
    const query = new URLSearchParams(conditions);
    narrow(query, field.name, "null", "false");
    query.set("fields", [...new Set([titleField(schema)?.name ?? field.name, field.name])].join(","));
    query.set("limit", String(PAGE));
    const read = async () => {
      let { cursor } = asked;
      for (let page = 0; page < PAGES; page++) {
        if (cursor !== null) query.set("cursor", cursor);
        const { items, nextCursor } = await listEntries(place, { query, signal: abort.signal });
        const places = items.flatMap((item) => {
          const point = storedValue(item, field);
          return isPoint(point) ? [{ item, point }] : [];
        });
        const isFirst = cursor === null;
        setKnown((old) => ({
          places: [...(isFirst ? [] : (old?.places ?? [])), ...places],
          next: nextCursor,
        }));
        cursor = nextCursor;
        if (cursor === null) return;
      }
    };
    read().catch((error: unknown) => {
      if (!abort.signal.aborted)
        setKnown((old) => ({ places: old?.places ?? [], next: old?.next ?? null, error }));
    });
    return () => abort.abort();
  }, [asked]);
  return {
    known,
    more: () => setAsked(({ attempt }) => ({ cursor: known?.next ?? null, attempt: attempt + 1 })),
  };
}

/** Follows the size of an element. */
function useSize() {
  const ref = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Pick<Frame, "width" | "height">>();
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const read = () =>
      setSize({ width: Math.max(1, element.clientWidth), height: Math.max(1, element.clientHeight) });
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, size };
}

/** The land and the grid of degrees. */
function Ground({ frame }: { frame: Frame }) {
  const land = useMemo(landPath, []);
  const { meridians, parallels } = gridOf(frame);
  const corner = spotOf(frame, { x: 0, y: 0 });
  const size = frame.scale / LAND_SIDE;
  return (
    <svg aria-hidden="true" width={frame.width} height={frame.height}>
      {[-1, 0, 1].map((turn) => (
        <path
          key={turn}
          class="map-land"
          d={land}
          transform={`translate(${corner.left + turn * frame.scale} ${corner.top}) scale(${size})`}
          vector-effect="non-scaling-stroke"
        />
      ))}
      {meridians.map(([lon, left]) => (
        <g key={`lon ${lon}`} class="map-line">
          <line x1={left} x2={left} y1={0} y2={frame.height} />
          <text
            x={left + 3}
            y={frame.height - 4}
          >{`${Math.abs(lon)}°${lon < 0 ? "W" : lon > 0 ? "E" : ""}`}</text>
        </g>
      ))}
      {parallels.map(([lat, top]) => (
        <g key={`lat ${lat}`} class="map-line">
          <line x1={0} x2={frame.width} y1={top} y2={top} />
          <text x={3} y={top - 3}>{`${Math.abs(lat)}°${lat < 0 ? "S" : lat > 0 ? "N" : ""}`}</text>
        </g>
      ))}
    </svg>
  );
}

interface MarkProps {
  group: Group<Placed>;
  spot: Spot;
  nameIn: (item: EntryItem) => string;
  linkOf: (id: string) => string;
  onOpen: (group: Group<Placed>) => void;
}

/** The mark of an entry, or of several that are close to each other. */
function Mark({ group, spot, nameIn, linkOf, onOpen }: MarkProps) {
  const { items } = group;
  const style = { left: `${spot.left}px`, top: `${spot.top}px` };
  const [only, ...others] = items;
  if (only === undefined) return null;
  if (others.length === 0)
    return (
      <span class="map-mark" style={style} title={nameIn(only.item)}>
        <Link to={linkOf(only.item.id)} class="map-dot">
          <span class="sr-only" dir="auto">
            {nameIn(only.item)}
          </span>
        </Link>
      </span>
    );
  return (
    <button
      type="button"
      class="map-group"
      style={style}
      aria-label={t("table.mapGroup", { count: items.length })}
      onClick={() => onOpen(group)}
    >
      {formatNumber(items.length)}
    </button>
  );
}

/** Moves the map by pointer: drags it, and zooms with the wheel while Ctrl or ⌘ is held, as a pinch does. */
function usePointer(
  canvas: { current: HTMLDivElement | null },
  change: (make: (frame: Frame) => Frame) => void,
) {
  const drag = useRef<{ id: number; left: number; top: number }>();
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const at = { left: event.clientX - box.left, top: event.clientY - box.top };
      change((frame) => zoomed(frame, 2 ** (-event.deltaY / 200), at));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
  return {
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0 || (event.target as Element).closest("a, button") !== null) return;
      drag.current = { id: event.pointerId, left: event.clientX, top: event.clientY };
      canvas.current?.setPointerCapture(event.pointerId);
    },
    onPointerMove(event: PointerEvent) {
      const from = drag.current;
      if (from?.id !== event.pointerId) return;
      const [left, top] = [from.left - event.clientX, from.top - event.clientY];
      drag.current = { id: from.id, left: event.clientX, top: event.clientY };
      change((frame) => panned(frame, left, top));
    },
    onPointerUp() {
      drag.current = undefined;
    },
    onPointerCancel() {
      drag.current = undefined;
    },
  };
}

/** Returns a frame in which a group comes apart. */
function closerTo(frame: Frame, points: readonly Point[]): Frame {
  const around = fitted(frame, points);
  return around.scale > frame.scale * 1.5 ? around : zoomed({ ...around, scale: frame.scale }, 2);
}

const KEYS: Readonly<Record<string, (frame: Frame) => Frame>> = {
  ArrowLeft: (frame) => panned(frame, -STEP, 0),
  ArrowRight: (frame) => panned(frame, STEP, 0),
  ArrowUp: (frame) => panned(frame, 0, -STEP),
  ArrowDown: (frame) => panned(frame, 0, STEP),
  "+": (frame) => zoomed(frame, 2),
  "=": (frame) => zoomed(frame, 2),
  "-": (frame) => zoomed(frame, 0.5),
};

/** The visible part. It shows all places until the user moves it. */
function useFrame(size: Pick<Frame, "width" | "height"> | undefined, places: readonly Placed[]) {
  const [moved, setMoved] = useState<Frame>();
  const all = useMemo(
    () =>
      size === undefined
        ? undefined
        : fitted(
            size,
            places.map(({ point }) => point),
          ),
    [size, places],
  );
  const frame = moved === undefined || size === undefined ? all : within({ ...moved, ...size });
  const newest = useRef(frame);
  newest.current = frame;
  return {
    frame,
    change(make: (frame: Frame) => Frame) {
      if (newest.current === undefined) return;
      newest.current = make(newest.current);
      setMoved(newest.current);
    },
    showAll: () => setMoved(undefined),
  };
}

/** The entries of the visible part, or of a mark, as a list. */
function InView({
  shown,
  of,
  nameIn,
  linkOf,
  heading,
}: {
  shown: readonly Placed[];
  of: number;
  nameIn: (item: EntryItem) => string;
  linkOf: (id: string) => string;
  heading: { current: HTMLHeadingElement | null };
}) {
  return (
    <div class="map-list">
      <h2 ref={heading} tabIndex={-1} aria-live="polite">
        {t("table.mapShown", { count: shown.length, all: formatNumber(of) })}
      </h2>
      <ul>
        {shown.slice(0, LISTED).map(({ item, point }) => (
          <li key={item.id}>
            <Link to={linkOf(item.id)}>
              <span dir="auto">{nameIn(item)}</span>
            </Link>{" "}
            <span class="hint number" dir="ltr">
              {point.lat}, {point.lon}
            </span>
          </li>
        ))}
      </ul>
      {shown.length <= LISTED ? null : (
        <p class="hint">{t("table.mapListed", { count: shown.length - LISTED })}</p>
      )}
    </div>
  );
}

export function MapFrame(props: FrameProps) {
  // Another list begins anew.
  return <PointMap key={`${props.conditions} ${props.layout.field.name}`} {...props} />;
}

/** The map itself, with its marks. */
function Canvas({
  frame,
  groups,
  canvas,
  move,
  ...mark
}: Omit<MarkProps, "group" | "spot"> & {
  frame: Frame | undefined;
  groups: readonly { group: Group<Placed>; spot: Spot }[];
  canvas: { current: HTMLDivElement | null };
  move: (make: (frame: Frame) => Frame) => void;
}) {
  const pointer = usePointer(canvas, move);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a map is no form, so it is no fieldset.
    <div
      class="map-canvas"
      ref={canvas}
      dir="ltr"
      role="group"
      tabIndex={0}
      aria-label={t("table.mapArea")}
      aria-describedby="map-keys"
      {...pointer}
      onKeyDown={(event) => {
        const make = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
        if (make === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        move(make);
      }}
    >
      {frame === undefined ? null : <Ground frame={frame} />}
      {groups.map(({ group, spot }) => (
        <Mark key={group.items[0]?.item.id} {...{ group, spot, ...mark }} />
      ))}
    </div>
  );
}

/** Returns the groups in the visible part of the map. */
function useGroups(frame: Frame | undefined, places: readonly Placed[]) {
  const scale = frame?.scale ?? 1;
  const all = useMemo(
    () =>
      groupsOf(
        places.map((one) => ({ item: one, point: one.point })),
        scale,
      ),
    [places, scale],
  );
  if (frame === undefined) return [];
  return all
    .map((group) => ({ group, spot: spotOf(frame, group) }))
    .filter(({ spot }) => isVisible(frame, spot));
}

const NO_PLACES: readonly Placed[] = [];

function PointMap(props: FrameProps) {
  const { layout, schema, orb, view, linkOf } = props;
  const { known, more } = usePlaces(props);
  const { places } = known ?? { places: NO_PLACES };
  const { ref, size } = useSize();
  const { frame, change, showAll } = useFrame(size, places);
  const [chosen, setChosen] = useState<readonly Placed[]>();
  const heading = useRef<HTMLHeadingElement>(null);
  const move = (make: (frame: Frame) => Frame) => {
    setChosen(undefined);
    change(make);
  };
  const nameIn = (item: EntryItem) => nameOf(item, schema, orb, view) || t("table.unnamed");
  const groups = useGroups(frame, places);
  const open = ({ items, points }: Group<Placed>) => {
    const isOnePlace = points.every(({ lat, lon }) => lat === points[0]?.lat && lon === points[0]?.lon);
    if (isOnePlace || frame === undefined || frame.scale >= CLOSEST) {
      setChosen(items);
      heading.current?.focus();
      return;
    }
    // The mark that had the focus is gone when its group has come apart.
    ref.current?.focus();
    move((now) => closerTo(now, points));
  };
  return (
    <section class="entry-map" aria-label={t("table.map", { field: labelOf(layout.field) })}>
      {known?.error === undefined ? null : <ProblemBox error={known.error} retry={more} />}
      <Tools move={move} showAll={showAll} />
      <Canvas canvas={ref} {...{ frame, groups, move, nameIn, linkOf }} onOpen={open} />
      {known === undefined ? (
        <Loading />
      ) : (
        <InView
          shown={chosen ?? groups.flatMap(({ group }) => group.items)}
          of={places.length}
          {...{ nameIn, linkOf, heading }}
        />
      )}
      {known === undefined || known.next === null || known.error !== undefined ? null : (
        <p>
          <span class="hint">{t("table.mapPart", { count: places.length })}</span>{" "}
          <Button size="small" onClick={more}>
            {t("table.mapMore")}
          </Button>
        </p>
      )}
    </section>
  );
}

function Tools({ move, showAll }: { move: (make: (frame: Frame) => Frame) => void; showAll: () => void }) {
  return (
    <div class="map-tools">
      <IconButton
        label={t("table.mapCloser")}
        icon="plus"
        onClick={() => move((frame) => zoomed(frame, 2))}
      />
      <IconButton
        label={t("table.mapWider")}
        icon="minus"
        onClick={() => move((frame) => zoomed(frame, 0.5))}
      />
      <Button size="small" onClick={showAll}>
        {t("table.mapAll")}
      </Button>
      <span class="hint wide-only" id="map-keys">
        {t("table.mapKeys")}
      </span>
    </div>
  );
}

/** Lets the user choose the focal point of an image, and the rectangle that its variants show. */
import { useRef, useState } from "preact/hooks";
import type { LibraryFile } from "../api/files.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/form.tsx";

export type Frame = Pick<LibraryFile, "focal" | "crop">;

const WHOLE = { x: 0, y: 0, w: 1, h: 1 };
/** Movements of the pointer up to this fraction of the image are a click, which sets the focal point. */
const CLICK = 0.02;
/** The overlay has this many steps in each direction. */
const STEPS = 1000;

interface Point {
  x: number;
  y: number;
}

const clamped = (value: number) => Math.min(1, Math.max(0, value));
const rounded = (value: number) => Math.round(value * STEPS) / STEPS;

/** Returns the rectangle between two corners. */
function between(one: Point, other: Point) {
  const [x, y] = [Math.min(one.x, other.x), Math.min(one.y, other.y)];
  return {
    x: rounded(x),
    y: rounded(y),
    w: rounded(Math.abs(one.x - other.x)),
    h: rounded(Math.abs(one.y - other.y)),
  };
}

const isClick = (one: Point, other: Point) =>
  Math.abs(one.x - other.x) < CLICK || Math.abs(one.y - other.y) < CLICK;

function Overlay({ focal, crop }: Frame) {
  const { x, y, w, h } = crop ?? WHOLE;
  const [left, top, right, bottom] = [x, y, x + w, y + h].map((part) => part * STEPS);
  return (
    <>
      {crop === null ? null : (
        <>
          <path
            class="frame-shade"
            fill-rule="evenodd"
            d={`M0 0H${STEPS}V${STEPS}H0Z M${left} ${top}H${right}V${bottom}H${left}Z`}
          />
          <path class="frame-crop" d={`M${left} ${top}H${right}V${bottom}H${left}Z`} />
        </>
      )}
      {focal === null ? null : (
        <>
          <path class="frame-focal-edge" d={`M${focal.x * STEPS} ${focal.y * STEPS}h0.01`} />
          <path class="frame-focal" d={`M${focal.x * STEPS} ${focal.y * STEPS}h0.01`} />
        </>
      )}
    </>
  );
}

/** A slider for a fraction, in percent. */
function Part({
  label,
  value,
  least = 0,
  most = 1,
  disabled,
  onChange,
}: {
  label: string;
  value: number;
  least?: number;
  most?: number;
  disabled: boolean;
  onChange: (value: number) => void;
}) {
  const percent = Math.round(value * 100);
  return (
    <Field label={label} aside={<span class="hint">{percent}%</span>}>
      {(attributes) => (
        <input
          {...attributes}
          type="range"
          min={Math.round(least * 100)}
          max={Math.round(most * 100)}
          value={percent}
          disabled={disabled}
          onInput={(event) => onChange(Number(event.currentTarget.value) / 100)}
        />
      )}
    </Field>
  );
}

function Sliders({ frame, disabled, onChange }: FrameProps) {
  const { focal, crop } = frame;
  const { x, y, w, h } = crop ?? WHOLE;
  const point = focal ?? { x: 0.5, y: 0.5 };
  const set = (part: Partial<typeof WHOLE>) => onChange({ ...frame, crop: { x, y, w, h, ...part } });
  return (
    <details>
      <summary>{t("media.frameExact")}</summary>
      <div class="frame-sliders">
        <fieldset>
          <legend>{t("media.focal")}</legend>
          <Part
            label={t("media.fromLeft")}
            value={point.x}
            disabled={disabled}
            onChange={(value) => onChange({ ...frame, focal: { ...point, x: value } })}
          />
          <Part
            label={t("media.fromTop")}
            value={point.y}
            disabled={disabled}
            onChange={(value) => onChange({ ...frame, focal: { ...point, y: value } })}
          />
        </fieldset>
        <fieldset>
          <legend>{t("media.crop")}</legend>
          <Part
            label={t("media.cropLeft")}
            value={x}
            most={0.99}
            disabled={disabled}
            onChange={(value) => set({ x: value, w: Math.min(w, rounded(1 - value)) })}
          />
          <Part
            label={t("media.cropTop")}
            value={y}
            most={0.99}
            disabled={disabled}
            onChange={(value) => set({ y: value, h: Math.min(h, rounded(1 - value)) })}
          />
          <Part
            label={t("media.cropWidth")}
            value={w}
            least={0.01}
            most={1 - x}
            disabled={disabled}
            onChange={(value) => set({ w: Math.min(value, rounded(1 - x)) })}
          />
          <Part
            label={t("media.cropHeight")}
            value={h}
            least={0.01}
            most={1 - y}
            disabled={disabled}
            onChange={(value) => set({ h: Math.min(value, rounded(1 - y)) })}
          />
        </fieldset>
      </div>
    </details>
  );
}

function Removals({ frame, onChange }: FrameProps) {
  const { focal, crop } = frame;
  return (
    <div class="frame-removals">
      {focal === null ? null : (
        <Button size="small" onClick={() => onChange({ ...frame, focal: null })}>
          {t("media.removeFocal")}
        </Button>
      )}
      {crop === null ? null : (
        <Button size="small" onClick={() => onChange({ ...frame, crop: null })}>
          {t("media.removeCrop")}
        </Button>
      )}
    </div>
  );
}

interface FrameProps {
  frame: Frame;
  disabled: boolean;
  onChange: (frame: Frame) => void;
}

/** Shows an image. A click sets the focal point, and dragging the crop. Sliders do the same for keyboards. */
export function FrameEditor({ file, ...props }: FrameProps & { file: LibraryFile }) {
  const { frame, disabled, onChange } = props;
  const box = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<{ from: Point; to: Point }>();
  const pointOf = ({ clientX, clientY }: PointerEvent): Point => {
    const { left, top, width, height } = box.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    return { x: clamped((clientX - left) / width), y: clamped((clientY - top) / height) };
  };
  const dragged =
    drag !== undefined && !isClick(drag.from, drag.to) ? between(drag.from, drag.to) : undefined;
  return (
    <>
      <div class="frame">
        <img src={file.url} alt="" />
        {/* The sliders below do the same with the keyboard. */}
        <svg
          ref={box}
          viewBox={`0 0 ${STEPS} ${STEPS}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          class={disabled ? "" : "active"}
          onPointerDown={(event) => {
            if (disabled || event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            const from = pointOf(event);
            setDrag({ from, to: from });
          }}
          onPointerMove={(event) => {
            if (drag !== undefined) setDrag({ from: drag.from, to: pointOf(event) });
          }}
          onPointerCancel={() => setDrag(undefined)}
          onPointerUp={(event) => {
            if (drag === undefined) return;
            const to = pointOf(event);
            setDrag(undefined);
            if (isClick(drag.from, to)) onChange({ ...frame, focal: { x: rounded(to.x), y: rounded(to.y) } });
            else onChange({ ...frame, crop: between(drag.from, to) });
          }}
        >
          <Overlay focal={frame.focal} crop={dragged ?? frame.crop} />
        </svg>
      </div>
      {disabled ? null : (
        <>
          <p class="hint">{t("media.frameHint")}</p>
          <Removals {...props} />
        </>
      )}
      <Sliders {...props} />
    </>
  );
}

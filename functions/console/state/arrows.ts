import { isRightToLeft } from "../texts/t.ts";

/** Returns 1 if an arrow key points to the next of several items beside each other, -1 if to the one before, else 0. */
export function sideStep(key: string): -1 | 0 | 1 {
  if (key !== "ArrowLeft" && key !== "ArrowRight") return 0;
  return (key === "ArrowRight") === isRightToLeft ? -1 : 1;
}

/** Lets the user change the order of a list: by dragging its items, or with Alt and the arrow keys. */
import { useRef } from "preact/hooks";

export interface Order {
  /** Returns the properties of the element that the user drags. @param name text for what it is dropped on elsewhere */
  handle: (
    at: number,
    name: string,
  ) => { draggable: boolean; onDragStart: (event: DragEvent) => void; onDragEnd: () => void };
  /** Returns the properties of an item, on which others are dropped. */
  item: (at: number) => {
    onKeyDown: (event: KeyboardEvent) => void;
    onDragOver: (event: DragEvent) => void;
    onDrop: (event: DragEvent) => void;
  };
}

/** @param onMove moves an item to another position, which may be outside of the list */
export function useOrder(onMove: (from: number, to: number) => void, disabled: boolean): Order {
  /** The item of this list that is dragged. Items of other lists are not dropped here. */
  const dragged = useRef<number>();
  return {
    handle: (at, name) => ({
      draggable: !disabled,
      onDragStart: (event) => {
        event.stopPropagation();
        dragged.current = at;
        event.dataTransfer?.setData("text/plain", name);
      },
      onDragEnd: () => {
        dragged.current = undefined;
      },
    }),
    item: (at) => ({
      onKeyDown: (event) => {
        const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
        if (!event.altKey || step === 0 || disabled) return;
        event.preventDefault();
        // A list around this one stays as it is.
        event.stopPropagation();
        onMove(at, at + step);
      },
      onDragOver: (event) => {
        if (dragged.current !== undefined) event.preventDefault();
      },
      onDrop: (event) => {
        if (dragged.current === undefined) return;
        event.preventDefault();
        onMove(dragged.current, at);
        dragged.current = undefined;
      },
    }),
  };
}

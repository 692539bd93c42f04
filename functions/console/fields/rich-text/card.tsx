/** Shows a block of a component in the text: what it is, and buttons to edit, move and remove it. */

import { render } from "preact";
import type { Node } from "prosemirror-model";
import type { NodeView } from "prosemirror-view";
import { Thumbnail } from "../../files/thumbnail.tsx";
import type { Shape } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import type { Item } from "./convert.ts";

/** What cards show and do. The members change while the editor is shown. */
export interface CardHooks {
  shapeOf: (block: Item) => Shape | undefined;
  textOf: (block: Item, shape: Shape) => string;
  isWrong: (block: Item) => boolean;
  disabled: boolean;
  onEdit: (block: Item) => void;
  onMove: (pos: number, step: 1 | -1) => void;
  onRemove: (pos: number) => void;
}

/** Returns the first file of a block, with its field. */
function fileIn(block: Item, { fields }: Shape) {
  for (const field of fields.filter(({ type }) => type === "file")) {
    const value = block[field.name];
    const file: unknown = Array.isArray(value) ? value[0] : value;
    if (file !== undefined && file !== null) return { field, file };
  }
  return undefined;
}

function Face({
  block,
  hooks,
  act,
}: {
  block: Item;
  hooks: CardHooks;
  act: (run: (pos: number) => void) => void;
}) {
  const shape = hooks.shapeOf(block);
  const name = shape?.label ?? String(block._type);
  const file = shape === undefined ? undefined : fileIn(block, shape);
  const text = shape === undefined ? t("rich.unknown") : hooks.textOf(block, shape);
  return (
    <>
      {file === undefined ? null : <Thumbnail field={file.field} value={file.file} />}
      <span class="rich-card-name">
        <strong>{name}</strong>
        <span class="hint clip" dir="auto">
          {hooks.isWrong(block) ? t("rich.wrong") : text}
        </span>
      </span>
      {hooks.disabled ? null : (
        <span class="list-buttons">
          {shape === undefined ? null : (
            <Button size="small" aria-label={t("rich.edit", { name })} onClick={() => hooks.onEdit(block)}>
              {t("rich.editShort")}
            </Button>
          )}
          <IconButton
            label={t("fields.up", { item: name })}
            icon="arrowUp"
            onClick={() => act((pos) => hooks.onMove(pos, -1))}
          />
          <IconButton
            label={t("fields.down", { item: name })}
            icon="arrowDown"
            onClick={() => act((pos) => hooks.onMove(pos, 1))}
          />
          <IconButton
            label={t("fields.remove", { item: name })}
            icon="x"
            onClick={() => act(hooks.onRemove)}
          />
        </span>
      )}
    </>
  );
}

export class Card implements NodeView {
  readonly dom = document.createElement("div");
  #node: Node;
  readonly #getPos: () => number | undefined;
  readonly #hooks: { current: CardHooks };
  readonly #all: Set<Card>;

  /** @param all all cards of the editor, which it draws again when the hooks change */
  constructor(node: Node, getPos: () => number | undefined, hooks: { current: CardHooks }, all: Set<Card>) {
    this.#node = node;
    this.#getPos = getPos;
    this.#hooks = hooks;
    this.#all = all;
    all.add(this);
    this.draw();
  }

  draw(): void {
    const block = this.#node.attrs.value as Item;
    const { current } = this.#hooks;
    this.dom.className = `rich-card ${current.isWrong(block) ? "wrong" : ""}`;
    const act = (run: (pos: number) => void) => {
      const pos = this.#getPos();
      if (pos !== undefined) run(pos);
    };
    render(<Face block={block} hooks={current} act={act} />, this.dom);
  }

  update(node: Node): boolean {
    if (node.type !== this.#node.type) return false;
    this.#node = node;
    this.draw();
    return true;
  }

  /** The buttons are for the card alone. */
  stopEvent({ target }: Event): boolean {
    return target instanceof Element && target.closest("button") !== null;
  }

  ignoreMutation(): boolean {
    return true;
  }

  destroy(): void {
    this.#all.delete(this);
    render(null, this.dom);
  }
}

/** The outline of the document, as a tree. The form shows the selected node. */
import { t } from "../texts/t.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import type { Editor } from "./document/editor.ts";
import { listOf, objectOf, textOf } from "./document/pointer.ts";
import { FaultMark } from "./form/faults.tsx";

const PARTS = [
  ["", "general", "settings"],
  ["/access", "accounts", "keyRound"],
  ["/roles", "roles", "users"],
  ["/uses", "uses", "zap"],
  ["/hooks", "hooks", "webhook"],
  ["/schedules", "schedules", "clock"],
  ["/components", "components", "boxes"],
] as const satisfies readonly (readonly [string, string, IconName])[];

/** For each node of the tree, the paths in the document that its form contains. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  "": ["", "/id", "/name", "/description", "/languages", "/markets", "/modules"],
  "/access": ["/access", "/session", "/branding"],
};

function Node({
  editor,
  path,
  icon,
  text,
  count,
  deep,
}: {
  editor: Editor;
  path: string;
  icon: IconName;
  text: string;
  count?: number;
  deep?: boolean;
}) {
  const selected = editor.selected.value;
  const inner = /^\/modules\/\d+(?:\/schemas\/\d+)?|^\/[a-z]+/.exec(selected)?.[0] ?? "";
  const current = inner === path || (path === "/access" && ["/session", "/branding"].includes(inner));
  return (
    <button
      type="button"
      class={`node ${deep === true ? "deep" : ""}`}
      aria-current={current ? "true" : undefined}
      onClick={() => editor.select(path)}
    >
      <Icon name={icon} />
      <span>{text}</span>
      {count === undefined || count === 0 ? null : <span class="count">{count}</span>}
      {(OWN[path] ?? [path]).map((one) => (
        <FaultMark key={one} editor={editor} path={one} own={path === "" || /^\/modules\/\d+$/.test(path)} />
      ))}
    </button>
  );
}

/** Moves the focus between nodes of the tree with the arrow keys. */
function onKeyDown(event: KeyboardEvent & { currentTarget: HTMLElement }) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  const nodes = [...event.currentTarget.querySelectorAll<HTMLElement>(".node")];
  nodes[nodes.indexOf(document.activeElement as HTMLElement) + step]?.focus();
}

export function Tree({ editor, onNew }: { editor: Editor; onNew: () => void }) {
  const document = editor.document.value;
  const modules = listOf(document.modules).map(objectOf);
  return (
    <nav class="tree" aria-label={t("schema.parts")} onKeyDown={onKeyDown}>
      {PARTS.map(([path, text, icon]) => (
        <Node
          key={path}
          {...{ editor, path, icon }}
          text={t(`schema.${text}`)}
          count={listOf(document[path.slice(1)]).length}
        />
      ))}
      <div class="tree-head">
        <h2>{t("schema.modules")}</h2>
        <IconButton
          label={t("schema.newModule")}
          icon="plus"
          disabled={editor.broken.value}
          onClick={onNew}
        />
      </div>
      {modules.map((module, at) => (
        <div key={at}>
          <Node
            editor={editor}
            path={`/modules/${at}`}
            icon="layers"
            text={textOf(module.name) || textOf(module.id) || t("schema.unnamed")}
          />
          {listOf(module.schemas)
            .map(objectOf)
            .map((schema, index) => (
              <Node
                key={index}
                editor={editor}
                path={`/modules/${at}/schemas/${index}`}
                icon="table"
                text={textOf(schema.name) || textOf(schema.id) || t("schema.unnamed")}
                deep
              />
            ))}
        </div>
      ))}
    </nav>
  );
}

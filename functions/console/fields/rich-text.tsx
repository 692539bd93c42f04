/** Rich text: its first words in tables, and the editor, which the browser loads with the first rich text. */
import { useEffect, useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { ProblemBox } from "../ui/problem.tsx";
import { Loading } from "../ui/states.tsx";
import { jsonKind } from "./json.tsx";
import type { FieldKind, InputProps } from "./parts/kind.ts";
import { referenceKind } from "./reference.tsx";

type EditorModule = typeof import("./rich-text/editor.tsx");
let loaded: EditorModule | undefined;

function RichTextInput(props: InputProps) {
  const [module, setModule] = useState(loaded);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (module !== undefined) return;
    import("./rich-text/editor.tsx").then((found) => {
      loaded = found;
      setModule(found);
    }, setError);
  }, [module]);
  if (error !== undefined) return <ProblemBox error={error} retry={() => location.reload()} />;
  if (module === undefined) return <Loading text={t("rich.loading")} />;
  return <module.RichTextEditor {...props} Reference={referenceKind.Input} />;
}

interface Block {
  _type?: unknown;
  children?: readonly { text?: unknown }[];
}

/** Returns the text of a paragraph, or the component of another block. */
function textOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  const { _type, children }: Block = value;
  return Array.isArray(children)
    ? children.map(({ text }: { text?: unknown }) => text).join("")
    : `[${_type}]`;
}

export const richTextKind: FieldKind = {
  ...jsonKind,
  Cell: ({ value }) => (
    <span class="clip" dir="auto">
      {textOf(value).slice(0, 200)}
    </span>
  ),
  Input: RichTextInput,
  ListInput: RichTextInput,
};

import type { ComponentChildren } from "preact";
import type { Editor } from "../document/editor.ts";

export type FormProps = {
  editor: Editor;
  path: string;
  onNew: () => void;
  /** Saves the module at the given JSON Pointer as a template. */
  onTemplate: (path: string) => void;
  /** Creates a signing secret for the webhook with the given id. */
  onSecret: (hook: string) => void;
};

/** A section of the form, with its heading. */
export function Panel({
  title,
  about,
  actions,
  children,
}: {
  title: string;
  about?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <div class="panel">
      <header>
        <div>
          <h2>{title}</h2>
          {about === undefined ? null : <p class="hint">{about}</p>}
        </div>
        {actions}
      </header>
      {children}
    </div>
  );
}

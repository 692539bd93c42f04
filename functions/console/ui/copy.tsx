/** Copies texts to the clipboard, and says so. */
import { useRef, useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Button } from "./button.tsx";
import { Said } from "./states.tsx";

/** Copies a text to the clipboard. Returns whether the browser allows it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Pages that are loaded over plain HTTP have no clipboard.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** A field with a text that the user cannot change, and a button that copies the text. */
export function CopyField({
  id,
  label,
  value,
  copy,
  done = t("ui.copied"),
}: {
  id?: string;
  label: string;
  value: string;
  /** The label of the button. */
  copy: string;
  /** Says that the text was copied. */
  done?: string;
}) {
  const field = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState({ status: "", error: "" });
  const run = async () => {
    if (await copyText(value)) setSaid({ status: done, error: "" });
    else {
      field.current?.select();
      setSaid({ status: "", error: t("ui.copyRefused") });
    }
  };
  return (
    <>
      <div class="copy-line">
        <input
          id={id}
          ref={field}
          readOnly
          aria-label={label}
          value={value}
          onFocus={(event) => event.currentTarget.select()}
        />
        <Button icon="copy" onClick={() => void run()}>
          {copy}
        </Button>
      </div>
      <Said {...said} />
    </>
  );
}

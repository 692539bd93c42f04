/** Shows a link that the user can pass on to another person, as text to copy and as a QR code. */
import { useEffect, useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { CopyField } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";

/** Width of the empty border around a QR code, in modules (the code's squares). */
const QUIET = 4;

function QrCode({ text, label }: { text: string; label: string }) {
  const [code, setCode] = useState<{ path: string; size: number }>();
  useEffect(() => {
    let current = true;
    void import("lean-qr").then(({ generate }) => {
      const { size, get } = generate(text);
      let path = "";
      for (let y = 0; y < size; y++)
        for (let x = 0; x < size; x++) if (get(x, y)) path += `M${x + QUIET} ${y + QUIET}h1v1h-1z`;
      if (current) setCode({ path, size: size + 2 * QUIET });
    });
    return () => {
      current = false;
    };
  }, [text]);
  if (code === undefined) return <div class="qr" />;
  return (
    <svg class="qr" viewBox={`0 0 ${code.size} ${code.size}`} role="img" aria-label={label}>
      <path d={code.path} shape-rendering="crispEdges" />
    </svg>
  );
}

export function LinkDialog({
  title,
  text,
  url,
  onClose,
}: {
  title: string;
  text: string;
  url: string;
  onClose: () => void;
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          {t("people.done")}
        </Button>
      }
    >
      <p class="dialog-text">{text}</p>
      <CopyField label={t("people.link")} value={url} copy={t("people.copyLink")} />
      <QrCode text={url} label={t("people.qr")} />
    </Dialog>
  );
}

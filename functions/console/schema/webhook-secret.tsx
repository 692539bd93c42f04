/** Creates a signing secret for a webhook, and shows it once. */
import { useState } from "preact/hooks";
import { renewSecret } from "../api/documents.ts";
import { t } from "../texts/t.ts";
import { Button, CopyButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ProblemBox } from "../ui/problem.tsx";

export function WebhookSecret({ orb, hook, onClose }: { orb: string; hook: string; onClose: () => void }) {
  const [made, setMade] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const make = async () => {
    setBusy(true);
    setError(undefined);
    try {
      setMade((await renewSecret(orb, hook)).secret);
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return (
    <Dialog
      title={t("schema.secretOf", { hook })}
      onClose={onClose}
      actions={
        made === undefined ? (
          <>
            <Button onClick={onClose}>{t("ui.cancel")}</Button>
            <Button kind="primary" busy={busy} onClick={() => void make()}>
              {t("schema.secretMake")}
            </Button>
          </>
        ) : (
          <Button kind="primary" onClick={onClose}>
            {t("ui.close")}
          </Button>
        )
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      <p class="dialog-text">{t(made === undefined ? "schema.secretText" : "schema.secretOnce")}</p>
      {made === undefined ? null : (
        <div class="copy-line">
          <input
            readOnly
            class="mono"
            aria-label={t("schema.secret")}
            value={made}
            onFocus={(event) => event.currentTarget.select()}
          />
          <CopyButton text={made} label={t("schema.secretCopy")} />
        </div>
      )}
    </Dialog>
  );
}

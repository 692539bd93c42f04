/** Creates or changes a stream mapping, which publishes a broker stream under a public name. */
import { useState } from "preact/hooks";
import { putMapping, type StreamMapping } from "../api/handlers.ts";
import { useAction } from "../state/action.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { SelectField, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, otherFaults, ProblemBox } from "../ui/problem.tsx";

const EMPTY: StreamMapping = { name: "", stream: "", subjectFilter: "", description: "", read: "user" };
const SHOWN = ["/name", "/stream", "/subjectFilter", "/description", "/read"];

export function MappingDialog({
  mapping,
  onSaved,
  onClose,
}: {
  /** The mapping to change; undefined to create one. */
  mapping: StreamMapping | undefined;
  onSaved: () => void;
  onClose: () => void;
}) {
  const [{ name, ...rest }, setDraft] = useState(mapping ?? EMPTY);
  const { busy, error, run } = useAction();
  const faults = faultsOf(error);
  const field = (key: keyof StreamMapping) => ({
    label: t(`streams.${key}`),
    hint: t(`streams.${key}Hint`),
    value: key === "name" ? name : rest[key],
    error: faultAt(faults, `/${key}`),
    onChange: (value: string) => setDraft({ name, ...rest, [key]: value } as StreamMapping),
  });
  const save = async () => {
    await putMapping(name, rest);
    onSaved();
  };
  const beside = faults.length > 0 && otherFaults(faults, SHOWN).length === 0;
  return (
    <Dialog
      title={mapping === undefined ? t("streams.new") : t("streams.edit", { name: mapping.name })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" form="mapping" busy={busy} disabled={name === ""}>
            {t("streams.save")}
          </Button>
        </>
      }
    >
      <form
        id="mapping"
        onSubmit={(event) => {
          event.preventDefault();
          void run(save);
        }}
      >
        {error === undefined || beside ? null : <ProblemBox error={error} />}
        <TextField {...field("name")} required disabled={mapping !== undefined} />
        <TextField {...field("stream")} required />
        <TextField {...field("subjectFilter")} required />
        <TextField {...field("description")} />
        <SelectField
          {...field("read")}
          options={[
            { value: "user", label: t("streams.readUser") },
            { value: "public", label: t("streams.readPublic") },
          ]}
        />
      </form>
    </Dialog>
  );
}

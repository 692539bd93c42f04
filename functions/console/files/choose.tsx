/** A button that opens the library of files, and a link to the description of one. */
import { useEffect, useState } from "preact/hooks";
import { isPlatformAdmin, maySome } from "../api/caller.ts";
import { pathOf } from "../api/http.ts";
import type { FieldModel } from "../model/orb.ts";
import { useCaller } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { complain } from "../ui/toast.tsx";
import type { ShownFile } from "./value.ts";

type PickerModule = typeof import("./picker.tsx");
let loaded: PickerModule | undefined;

/** Lets the user choose a file of the library. Shows nothing to users who may not see the library. */
export function ChooseFile({
  orb,
  field,
  disabled,
  onPick,
}: {
  orb: string;
  field: FieldModel;
  disabled: boolean;
  onPick: (value: object) => void;
}) {
  const caller = useCaller(orb).data;
  const [module, setModule] = useState(loaded);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!open || module !== undefined) return;
    import("./picker.tsx").then(
      (found) => {
        loaded = found;
        setModule(found);
      },
      (error: unknown) => {
        setOpen(false);
        complain(error);
      },
    );
  }, [open, module]);
  if (!maySome(caller, ["update", "publish"], false)) return null;
  const place = { orb, managed: isPlatformAdmin(caller) };
  return (
    <>
      <Button size="small" icon="search" disabled={disabled} onClick={() => setOpen(true)}>
        {t("media.choose")}
      </Button>
      {open && module !== undefined ? (
        <module.LibraryPicker {...{ place, field, onPick }} onClose={() => setOpen(false)} />
      ) : null}
    </>
  );
}

/** A link to the panel of a file in the library. Shows nothing to users who may not see the library. */
export function DescribeFile({ orb, file }: { orb: string; file: ShownFile }) {
  const caller = useCaller(orb).data;
  if (!maySome(caller, ["update", "publish"], false)) return null;
  const label = t("media.describe", { name: file.name });
  return (
    <a
      class="button quiet square"
      href={`/console${pathOf("orbs", orb, "media")}?file=${encodeURIComponent(file.file)}`}
      target="_blank"
      rel="noreferrer"
      aria-label={label}
      title={label}
    >
      <Icon name="pencil" />
    </a>
  );
}

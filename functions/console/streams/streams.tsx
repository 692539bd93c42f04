/** Lists the broker streams whose messages browsers can receive. */
import { useState } from "preact/hooks";
import { listMappings, removeMapping, type StreamMapping } from "../api/handlers.ts";
import { useAction } from "../state/action.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Link } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Shows } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { say } from "../ui/toast.tsx";
import { MappingDialog } from "./mapping.tsx";

const columnsOf = (
  edit: (mapping: StreamMapping) => void,
  drop: (mapping: StreamMapping) => void,
): Column<StreamMapping>[] => [
  {
    id: "name",
    label: t("streams.name"),
    cell: ({ name, description, read }) => (
      <>
        <Link to={`/streams/${encodeURIComponent(name)}`}>{name}</Link>{" "}
        {read === "public" ? <Badge>{t("streams.public")}</Badge> : null}
        <div class="hint">{description}</div>
      </>
    ),
  },
  {
    id: "stream",
    label: t("streams.stream"),
    cell: ({ stream }) => <code>{stream}</code>,
    wide: true,
  },
  {
    id: "filter",
    label: t("streams.subjectFilter"),
    cell: ({ subjectFilter }) => <code>{subjectFilter}</code>,
    wide: true,
  },
  {
    id: "actions",
    label: t("streams.actions"),
    align: "end",
    cell: (mapping) => (
      <span class="actions">
        <Button size="small" icon="pencil" onClick={() => edit(mapping)}>
          {t("streams.change")}
        </Button>
        <Button size="small" icon="trash" onClick={() => drop(mapping)}>
          {t("streams.remove")}
        </Button>
      </span>
    ),
  },
];

export default function Streams() {
  const mappings = useLoad("streams", listMappings);
  const [edited, setEdited] = useState<{ mapping: StreamMapping | undefined }>();
  const { error, run } = useAction();
  const drop = async ({ name }: StreamMapping) => {
    const title = t("streams.removeTitle", { name });
    const asked = { title, text: t("streams.removeText"), action: t("streams.remove"), danger: true };
    if (!(await confirm(asked))) return;
    await run(async () => {
      await removeMapping(name);
      say(t("streams.removed", { name }));
    });
    await mappings.reload();
  };
  return (
    <Page
      title={t("streams.title")}
      lead={t("streams.lead")}
      wide
      actions={
        <Button kind="primary" icon="plus" onClick={() => setEdited({ mapping: undefined })}>
          {t("streams.new")}
        </Button>
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      <Shows of={mappings}>
        {(all) => (
          <Table
            label={t("streams.title")}
            rows={all}
            keyOf={({ name }) => name}
            columns={columnsOf(
              (mapping) => setEdited({ mapping }),
              (mapping) => void drop(mapping),
            )}
          />
        )}
      </Shows>
      {edited === undefined ? null : (
        <MappingDialog
          mapping={edited.mapping}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined);
            void mappings.reload();
          }}
        />
      )}
    </Page>
  );
}

/** Lists all registered handlers, and whether a running service provides each of them. */
import { listRegistry, type Registration, removeRegistration } from "../api/handlers.ts";
import { useAction } from "../state/action.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ProblemBox } from "../ui/problem.tsx";
import { Shows } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { say } from "../ui/toast.tsx";
import { Presence } from "./status.tsx";

/** Returns whether a service provides the handler. Built-in handlers have no subject. */
const isRemote = ({ subject, status }: Registration) => subject !== undefined || status === "faulty";

const columnsOf = (drop: (registration: Registration) => void): Column<Registration>[] => [
  {
    id: "name",
    label: t("handlers.name"),
    cell: ({ name, description, faults }) => (
      <>
        <code>{name}</code>
        {description === undefined ? null : <div class="hint">{description}</div>}
        {(faults ?? []).map(({ path, message }) => (
          <div class="error" key={`${path} ${message}`}>
            <code>{path}</code> {message}
          </div>
        ))}
      </>
    ),
  },
  {
    id: "status",
    label: t("handlers.status"),
    cell: ({ status }) => <Presence status={status} />,
  },
  { id: "auth", label: t("handlers.auth"), cell: ({ auth }) => auth ?? "", wide: true },
  {
    id: "subject",
    label: t("handlers.subject"),
    cell: ({ subject }) => (subject === undefined ? t("handlers.builtIn") : <code>{subject}</code>),
    wide: true,
  },
  {
    id: "actions",
    label: t("handlers.actions"),
    align: "end",
    cell: (entry) =>
      isRemote(entry) ? (
        <Button size="small" icon="trash" onClick={() => drop(entry)}>
          {t("handlers.remove")}
        </Button>
      ) : null,
  },
];

export default function Registry() {
  const registry = useLoad("registry", listRegistry);
  const { error, run } = useAction();
  const drop = async ({ name }: Registration) => {
    const sure = await confirm({
      title: t("handlers.removeTitle", { name }),
      text: t("handlers.removeText"),
      action: t("handlers.remove"),
      danger: true,
    });
    if (!sure) return;
    await run(async () => {
      await removeRegistration(name);
      say(t("handlers.removed", { name }));
    });
    await registry.reload();
  };
  return (
    <Page
      title={t("handlers.title")}
      lead={t("handlers.lead")}
      wide
      actions={
        <Button icon="refresh" busy={registry.busy} onClick={() => void registry.reload()}>
          {t("handlers.refresh")}
        </Button>
      }
    >
      {error === undefined ? null : <ProblemBox error={error} />}
      <Shows of={registry}>
        {(all) => (
          <Table
            label={t("handlers.title")}
            rows={all}
            keyOf={({ name }) => name}
            columns={columnsOf((registration) => void drop(registration))}
          />
        )}
      </Shows>
    </Page>
  );
}

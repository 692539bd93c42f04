/** The page of a schema's entries. */
import { useLayoutEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { type Caller, isPlatformAdmin, may } from "../../api/caller.ts";
import { type OrbModel, type SchemaModel, schemaOf, titleOf } from "../../model/orb.ts";
import { orbLink, type PageParams } from "../../shell/nav.ts";
import { changeIn } from "../../state/change.ts";
import { useCommands } from "../../state/commands.ts";
import { useCaller, useOrb } from "../../state/session.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Shows } from "../../ui/states.tsx";
import type { Rights } from "./bulk/bulk.ts";
import { ImportDialog } from "./bulk/import-dialog.tsx";
import { List } from "./list.tsx";

/** @param change the change set that the list shows: to publish in it, the right to update is enough */
function rightsOf(
  caller: Caller | undefined,
  orb: OrbModel,
  { module, schema, change }: { module: string; schema: SchemaModel; change: string | undefined },
): Rights {
  const place = { module, schema: schema.id };
  const { type } = orb.modules.find(({ id }) => id === module) ?? {};
  // Transaction records are immutable, and settings belong to accounts, so this table cannot change them.
  const fixed = type === "TRANSACTIONS" || type === "SETTINGS";
  const can = (action: "create" | "update" | "publish" | "delete") =>
    !fixed && may(caller, action, place, action !== "create");
  return {
    fixed,
    create: can("create"),
    update: can("update"),
    publish: can(change === undefined ? "publish" : "update"),
    remove: can("delete"),
    drafts: fixed || can("update") || can("publish"),
  };
}

/**
 * @param create whether the caller may create entries
 * @param onImport undefined if the list takes no imports
 */
function useTableCommands(create: boolean, base: string, onImport: (() => void) | undefined): void {
  const [, go] = useLocation();
  const group = t("table.group");
  useCommands(
    () =>
      create
        ? [
            { id: "table.new", title: t("table.newEntry"), group, key: "n", run: () => go(`${base}/new`) },
            ...(onImport === undefined
              ? []
              : [{ id: "table.import", title: t("table.importTitle"), group, run: onImport }]),
          ]
        : [],
    [create, base, onImport === undefined],
  );
}

export default function EntriesTable({ params }: { params: PageParams }) {
  const { orb: orbId = "", module = "", schema: schemaId = "" } = params;
  const caller = useCaller(orbId).data;
  const orb = useOrb(orbId);
  const schema = schemaOf(orb.data, module, schemaId);
  const change = changeIn(orbId);
  const rights =
    orb.data === undefined || schema === undefined
      ? undefined
      : rightsOf(caller, orb.data, { module, schema, change });
  const base = orbLink(orbId, "entries", module, schemaId);
  const create = rights?.create === true;
  const place = { orb: orbId, module, schema: schemaId, managed: isPlatformAdmin(caller), change };
  const [importing, setImporting] = useState(false);
  // An import writes the entries themselves, so its dialog does not stay when the user enters a set.
  useLayoutEffect(() => setImporting(false), [change]);
  /** Incremented when the list must load again from its start. */
  const [version, setVersion] = useState(0);
  useTableCommands(create, base, change === undefined ? () => setImporting(true) : undefined);
  return (
    <Page
      title={schema === undefined ? schemaId : titleOf(schema)}
      path={[{ label: orb.data === undefined ? orbId : titleOf(orb.data), to: orbLink(orbId) }]}
      wide
      actions={
        create ? (
          <>
            {change === undefined ? (
              <Button
                icon="upload"
                aria-label={t("table.import")}
                title={t("table.importTitle")}
                onClick={() => setImporting(true)}
              >
                <span class="wide-only">{t("table.import")}</span>
              </Button>
            ) : null}
            <LinkButton to={`${base}/new`} icon="plus" kind="primary">
              {t("table.newEntry")}
            </LinkButton>
          </>
        ) : undefined
      }
    >
      <Shows of={orb}>
        {(data) =>
          schema === undefined || rights === undefined ? (
            <Empty icon="search" title={t("table.noSchema")}>
              <p>{t("table.noSchemaText")}</p>
              <LinkButton to={orbLink(orbId)}>{t("table.toOrb")}</LinkButton>
            </Empty>
          ) : (
            <List
              key={`${base} ${change ?? ""}`}
              version={version}
              {...{ place, schema, rights, base }}
              orb={data}
            />
          )
        }
      </Shows>
      {importing && change === undefined && schema !== undefined && orb.data !== undefined ? (
        <ImportDialog
          {...{ place, schema }}
          orb={orb.data}
          publishable={rights?.publish === true}
          onClose={() => setImporting(false)}
          onDone={() => setVersion((old) => old + 1)}
        />
      ) : null}
    </Page>
  );
}

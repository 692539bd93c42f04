/** Finds the application, module and schema in the URL of a page. */
import type { ComponentChildren } from "preact";
import type { Caller } from "../api/caller.ts";
import { type ModuleModel, type OrbModel, type SchemaModel, schemaOf } from "../model/orb.ts";
import type { PageParams } from "../shell/nav.ts";
import { useCaller, useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { Page } from "../ui/page.tsx";
import { Empty, Shows } from "../ui/states.tsx";

export interface Place {
  caller: Caller;
  orb: OrbModel;
  module: ModuleModel;
  schema: SchemaModel;
}

/**
 * Shows a page about a schema, or an error if the schema does not exist. Until the schema is loaded, the heading is the
 * schema's id.
 */
export function WithSchema({
  params: { orb: orbId = "", module: moduleId = "", schema: schemaId = "" },
  bare,
  children,
}: {
  params: PageParams;
  /** Whether to show nothing until the schema is loaded. */
  bare?: boolean;
  children: (place: Place) => ComponentChildren;
}) {
  const caller = useCaller(orbId).data;
  const loaded = useOrb(orbId);
  const orb = loaded.data;
  const schema = schemaOf(orb, moduleId, schemaId);
  const module = orb?.modules.find(({ id }) => id === moduleId);
  if (caller !== undefined && orb !== undefined && module !== undefined && schema !== undefined)
    return <>{children({ caller, orb, module, schema })}</>;
  if (bare === true) return null;
  return (
    <Page title={schemaId}>
      <Shows of={loaded}>{() => <Empty icon="search" title={t("entry.noSchema")} />}</Shows>
    </Page>
  );
}

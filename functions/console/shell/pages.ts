/**
 * Commands of the command palette that open pages of the platform, of the current application, and of other
 * applications.
 */
import { useLocation } from "wouter-preact";
import { type Caller, isPlatformAdmin, may } from "../api/caller.ts";
import { discoverOrbs, listOrbs } from "../api/orbs.ts";
import { type OrbModel, titleOf } from "../model/orb.ts";
import { type Command, useCommands } from "../state/commands.ts";
import { useLoad } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { orbLink, type Route } from "./nav.ts";

/** Registers a command for each page that the caller may see. */
export function usePages({
  routes,
  caller,
  orb,
  orbId,
}: {
  routes: readonly Route[];
  caller: Caller;
  orb: OrbModel | undefined;
  orbId: string | undefined;
}): void {
  const [, go] = useLocation();
  const admin = isPlatformAdmin(caller);
  const { data: orbs } = useLoad(caller.account === null ? null : `palette/${admin}`, async (signal) => {
    const all = admin
      ? (await listOrbs({ signal, query: { limit: 200 } })).items
      : await discoverOrbs(signal);
    return all.map(({ id, name }) => ({ id, name }));
  });
  useCommands(() => {
    const page = (group: string, title: string, to: string, words = ""): Command => ({
      id: to,
      group,
      title,
      words,
      run: () => go(to),
    });
    const shown = routes.filter(({ nav, visible }) => nav !== undefined && visible?.(caller) !== false);
    const pages = shown.flatMap(({ path, nav }) => {
      if (nav === undefined || (path.includes(":orb") && orbId === undefined)) return [];
      const group = path.includes(":orb") && orb !== undefined ? titleOf(orb) : t("app.platform");
      return page(group, t(nav.label), path.replace(":orb", orbId ?? ""));
    });
    const schemas = (orb?.modules ?? []).flatMap((module) =>
      module.schemas
        .filter((schema) => may(caller, "read", { module: module.id, schema: schema.id }, true))
        .map((schema) =>
          page(
            titleOf(module),
            titleOf(schema),
            orbLink(orb?.id ?? "", "entries", module.id, schema.id),
            `${module.id} ${schema.id}`,
          ),
        ),
    );
    const others = (orbs ?? []).map((one) => page(t("palette.orb"), titleOf(one), orbLink(one.id), one.id));
    return caller.account === null ? [] : [...schemas, ...pages, ...others];
  }, [caller, orb, orbId, orbs, routes]);
}

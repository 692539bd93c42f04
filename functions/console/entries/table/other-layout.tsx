/** Loads the layouts of a list beside the table when one is first chosen. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useCaller } from "../../state/session.ts";
import { ProblemBox } from "../../ui/problem.tsx";
import { Loading } from "../../ui/states.tsx";
import { rightsOf } from "../rights.ts";
import type { FrameProps } from "./layouts/frame.tsx";

type Shown = ComponentType<FrameProps>;

/** What shows the layouts. The map is apart, because it has the outline of the land. */
const LOADS: Readonly<Record<"frame" | "map", () => Promise<Shown>>> = {
  frame: async () => (await import("./layouts/frame.tsx")).LayoutFrame,
  map: async () => (await import("./layouts/map.tsx")).MapFrame,
};
const loaded = new Map<string, Shown>();

interface OtherProps extends Omit<FrameProps, "mayChange"> {
  /** Whether the caller may change some of the entries. */
  changes: boolean;
}

/** The list in another layout than the table. */
export function OtherLayout({ changes, ...props }: OtherProps) {
  const { orb, schema, place } = props;
  const caller = useCaller(orb.id).data;
  const parent = orb.modules.find(({ id }) => id === place.module);
  const mayChange: FrameProps["mayChange"] = (item, field) => {
    if (!changes || caller === undefined || parent === undefined) return false;
    const rights = rightsOf(caller, { orb, module: parent, schema }, item);
    return rights.readOnly === undefined && rights.mayField(field, "write");
  };
  const kind = props.layout.kind === "map" ? "map" : "frame";
  const [, setLoads] = useState(0);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (loaded.has(kind)) return;
    LOADS[kind]().then((found) => {
      loaded.set(kind, found);
      setLoads((now) => now + 1);
    }, setError);
  }, [kind]);
  if (error !== undefined) return <ProblemBox error={error} retry={() => location.reload()} />;
  const Layout = loaded.get(kind);
  return Layout === undefined ? <Loading /> : <Layout {...{ mayChange, ...props }} />;
}

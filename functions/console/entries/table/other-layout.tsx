/** Loads the layouts of a list beside the table when one is first chosen. */
import { useEffect, useState } from "preact/hooks";
import { useCaller } from "../../state/session.ts";
import { ProblemBox } from "../../ui/problem.tsx";
import { Loading } from "../../ui/states.tsx";
import { rightsOf } from "../rights.ts";
import type { FrameProps } from "./layouts/frame.tsx";

type LayoutModule = typeof import("./layouts/frame.tsx");
let loadedLayouts: LayoutModule | undefined;

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
  const [module, setModule] = useState(loadedLayouts);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (module !== undefined) return;
    import("./layouts/frame.tsx").then((found) => {
      loadedLayouts = found;
      setModule(found);
    }, setError);
  }, [module]);
  if (error !== undefined) return <ProblemBox error={error} retry={() => location.reload()} />;
  return module === undefined ? <Loading /> : <module.LayoutFrame {...{ mayChange, ...props }} />;
}

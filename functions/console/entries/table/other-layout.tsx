/** Loads the layouts of a list beside the table when one is first chosen. */
import { useEffect, useState } from "preact/hooks";
import { ProblemBox } from "../../ui/problem.tsx";
import { Loading } from "../../ui/states.tsx";
import type { FrameProps } from "./layouts/frame.tsx";

type LayoutModule = typeof import("./layouts/frame.tsx");
let loadedLayouts: LayoutModule | undefined;

/** The list in another layout than the table. */
export function OtherLayout(props: FrameProps) {
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
  return module === undefined ? <Loading /> : <module.LayoutFrame {...props} />;
}

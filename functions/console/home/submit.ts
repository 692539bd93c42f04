import { useLocation } from "wouter-preact";
import { createOrb } from "../api/orbs.ts";
import { orbLink } from "../shell/nav.ts";
import { useAction } from "../state/action.ts";
import { refresh } from "../state/cache.ts";
import { leaveFreely } from "../state/leave.ts";
import { t } from "../texts/t.ts";
import { say } from "../ui/toast.tsx";

export interface Submit {
  busy: boolean;
  error: unknown;
  /** Creates the application, and then opens its page. */
  submit: (document: unknown, publish: boolean) => Promise<void>;
}

export function useSubmit(): Submit {
  const [, go] = useLocation();
  const { busy, error, run } = useAction();
  const submit = (document: unknown, publish: boolean) =>
    run(async () => {
      const { id, name = id } = await createOrb(document, publish);
      refresh("orbs");
      refresh("palette");
      say(t(publish ? "create.published" : "create.created", { name }));
      leaveFreely();
      go(orbLink(id));
    });
  return { busy, error, submit };
}

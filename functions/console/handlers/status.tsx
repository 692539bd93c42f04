import type { Registration } from "../api/handlers.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";

const TONES = { available: "good", absent: "warning", unknown: "neutral", faulty: "bad" } as const;

/** Shows whether a running service provides a handler. */
export function Presence({ status }: { status: Registration["status"] }) {
  return <Badge tone={TONES[status]}>{t(`handlers.${status}`)}</Badge>;
}

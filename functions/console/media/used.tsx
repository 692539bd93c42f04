/** The entries that refer to a file. */
import type { FileUser, LibraryFileDetail } from "../api/files.ts";
import { TargetName } from "../fields/parts/target.tsx";
import { orbLink } from "../shell/nav.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Link } from "../ui/link.tsx";

function State({ user }: { user: FileUser }) {
  if (user.live) return <Badge tone="good">{t("media.inLive")}</Badge>;
  if (user.newest) return <Badge tone="info">{t("media.inDraft")}</Badge>;
  return <Badge>{t("media.inOlder")}</Badge>;
}

export function UsedIn({ orb, file }: { orb: string; file: LibraryFileDetail }) {
  const { usedIn, uses } = file;
  const hidden = uses - usedIn.length;
  return (
    <section aria-labelledby="media-used">
      <h3 id="media-used">{t("media.usedIn")}</h3>
      {uses === 0 ? <p class="hint">{t("media.usedNowhere")}</p> : null}
      <ul class="media-used">
        {usedIn.map((user) => {
          const { module, schema, id } = user;
          return (
            <li key={id}>
              <Link to={orbLink(orb, "entries", module, schema, id)}>
                <TargetName reference={`${orb}/${module}/${schema}`} id={id} />
              </Link>{" "}
              <State user={user} />
            </li>
          );
        })}
      </ul>
      {hidden > 0 ? <p class="hint">{t("media.usedHidden", { count: hidden })}</p> : null}
    </section>
  );
}

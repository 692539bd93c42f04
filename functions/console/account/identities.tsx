/** Identities at OpenID Connect providers that are linked to the account. */
import { useLayoutEffect } from "preact/hooks";
import {
  type Identity,
  linkIdentity,
  listIdentities,
  type OwnAccount,
  unlinkIdentity,
} from "../api/account.ts";
import { confirm } from "../state/confirm.ts";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Time } from "../ui/time.tsx";
import { focusPart, Part, type Saying, unlessGone, useSaying } from "./part.tsx";
import type { Ways } from "./ways.ts";

/**
 * Key under which the tab stores the ids of the linked identities before the user goes to a provider. When the user
 * comes back, the page compares them to find the new identity.
 */
const BEFORE = "identities-before";

type Providers = OwnAccount["realm"]["providers"];

/** Returns the provider's name, or the host of the issuer if the application no longer offers the provider. */
const nameOf = ({ provider, issuer }: Identity, providers: Providers): string =>
  providers.find(({ id }) => id === provider)?.name ?? new URL(issuer).host;

/** After the user has linked an identity and returned from its provider, says which provider it is. */
function useLinked(identities: readonly Identity[] | null, providers: Providers, saying: Saying): void {
  useLayoutEffect(() => {
    const before = sessionStorage.getItem(BEFORE);
    if (identities === null || before === null) return;
    sessionStorage.removeItem(BEFORE);
    const known = new Set(JSON.parse(before) as string[]);
    const linked = identities.find(({ id }) => !known.has(id));
    if (linked === undefined) return;
    focusPart("identities");
    saying.say(t("account.linked", { name: nameOf(linked, providers) }));
  }, [identities]);
}

function IdentityItem({
  identity,
  name,
  onUnlink,
}: {
  identity: Identity;
  name: string;
  /** Undefined if the identity is the last way to sign in. Unlinking it would lock the user out. */
  onUnlink: (() => void) | undefined;
}) {
  const { label, createdAt, provider } = identity;
  return (
    <li>
      <div>
        <strong dir="auto">{name}</strong>
        <p class="hint">
          {label === null ? null : <bdi>{label}, </bdi>}
          {t("account.linkedOn")} <Time at={createdAt} />
          {provider === null ? `. ${t("account.providerGone")}` : null}
        </p>
      </div>
      {onUnlink === undefined ? null : (
        <Button
          aria-label={t("account.unlinkNamed", { name: label === null ? name : `${name}, ${label}` })}
          onClick={onUnlink}
        >
          {t("account.unlink")}
        </Button>
      )}
    </li>
  );
}

/** @param page path of the account page, to which the provider sends the browser back */
export function Identities({
  base,
  page,
  providers,
  ways,
}: {
  base: string;
  page: string;
  providers: Providers;
  ways: Ways;
}) {
  const saying = useSaying();
  const found = ways.identities.data;
  useLinked(found ?? null, providers, saying);
  if (found === null) return null;
  const link = ({ id, name }: Providers[number]) =>
    void saying.attempt(async () => {
      const [url, before] = await Promise.all([linkIdentity(base, id, page), listIdentities(base)]);
      sessionStorage.setItem(BEFORE, JSON.stringify((before ?? []).map((one) => one.id)));
      location.assign(url);
      return t("account.goingTo", { name });
    });
  const drop = async (identity: Identity) => {
    const name = nameOf(identity, providers);
    const title = t("account.unlinkTitle", { name });
    const text = t("account.unlinkText");
    if (!(await confirm({ title, text, action: t("account.unlink"), danger: true }))) return;
    await saying.attempt(async () => {
      await unlinkIdentity(base, identity.id).catch(unlessGone);
      await ways.reload();
      focusPart("identities");
      return t("account.unlinked", { name });
    });
  };
  return (
    <Part id="identities" title={t("account.identities")} text={t("account.identitiesText")} saying={saying}>
      <ul>
        {(found ?? []).map((identity) => (
          <IdentityItem
            key={identity.id}
            identity={identity}
            name={nameOf(identity, providers)}
            onUnlink={
              ways.count - (identity.provider === null ? 0 : 1) < 1 ? undefined : () => void drop(identity)
            }
          />
        ))}
      </ul>
      {providers.map((provider) => (
        <Button key={provider.id} icon="link" busy={saying.busy} onClick={() => link(provider)}>
          {t("account.linkAt", { name: provider.name })}
        </Button>
      ))}
    </Part>
  );
}

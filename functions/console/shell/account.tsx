import { accountPath, type Caller, signinPath, signOut } from "../api/caller.ts";
import { setTheme, type Theme, theme } from "../state/theme.ts";
import { t } from "../texts/t.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { complain } from "../ui/toast.tsx";

const THEMES: readonly [Theme, IconName][] = [
  ["system", "settings"],
  ["light", "sun"],
  ["dark", "moon"],
];

/** The account menu: the account's page, signing out, and the colors. */
export function AccountMenu({ caller }: { caller: Caller }) {
  const { account } = caller;
  const colours = THEMES.map(([choice, icon]) => ({
    label: t(`account.${choice}`),
    icon,
    checked: theme.value === choice,
    run: () => setTheme(choice),
  }));
  if (account === null)
    return (
      <Menu
        label={t("account.colours")}
        button={<Icon name="sun" size={18} />}
        items={colours}
        class="button quiet square"
      />
    );
  const page = accountPath(account.realm);
  return (
    <Menu
      label={t("account.menu", { name: account.name })}
      class="button quiet account"
      button={
        <>
          <Icon name="circleUser" size={18} />
          <span class="account-name">{account.name}</span>
        </>
      }
      items={[
        {
          label: t("account.page"),
          icon: "keyRound",
          run: () => location.assign(signinPath(page, location.pathname + location.search)),
        },
        ...colours,
        {
          label: t("account.signOut"),
          icon: "logOut",
          run: () => signOut(account.realm).then(() => location.assign("/console"), complain),
        },
      ]}
    />
  );
}

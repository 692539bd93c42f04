import { useLocation } from "wouter-preact";
import { accountPage, type Caller, signOut } from "../api/caller.ts";
import { mayLeave } from "../state/leave.ts";
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
  const [, go] = useLocation();
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
  const leave = async () => {
    if (!(await mayLeave())) return;
    await signOut(account.realm);
    location.assign("/console");
  };
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
          run: () => go(accountPage(account.realm)),
        },
        ...colours,
        {
          label: t("account.signOut"),
          icon: "logOut",
          run: () => void leave().catch(complain),
        },
      ]}
    />
  );
}

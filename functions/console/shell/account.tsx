import { useLocation } from "wouter-preact";
import { chosenLanguage, keepLanguage } from "../../pages/browser/language.ts";
import { LANGUAGES, type Language, OWN_NAMES } from "../../texts/languages.ts";
import { accountPage, type Caller, signOut } from "../api/caller.ts";
import { mayLeave } from "../state/leave.ts";
import { setTheme, type Theme, theme } from "../state/theme.ts";
import { t } from "../texts/t.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { complain } from "../ui/toast.tsx";

const THEMES: readonly [Theme, IconName][] = [
  ["system", "settings"],
  ["light", "sun"],
  ["dark", "moon"],
];

/** Shows the console in another language, unless the user wants to stay because of unsaved changes. */
async function speak(choice: Language | undefined): Promise<void> {
  if (!(await mayLeave())) return;
  keepLanguage(choice);
  location.reload();
}

/** The choice of a language. Each has its own name, so that people find theirs in a console that they cannot read. */
function languageItems(): MenuItem[] {
  const chosen = chosenLanguage();
  return [undefined, ...LANGUAGES].map((choice) => ({
    label: choice === undefined ? t("account.browserLanguage") : OWN_NAMES[choice],
    ...(choice === undefined ? {} : { language: choice }),
    icon: "languages",
    checked: choice === chosen,
    run: () => void speak(choice),
  }));
}

/** The account menu: the account's page, signing out, the colors and the language. */
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
        label={t("account.look")}
        button={<Icon name="sun" size={18} />}
        items={[...colours, ...languageItems()]}
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
        ...languageItems(),
        {
          label: t("account.signOut"),
          icon: "logOut",
          run: () => void leave().catch(complain),
        },
      ]}
    />
  );
}

/** The layout around every page: header, navigation and overlays. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { type Caller, signinPage } from "../api/caller.ts";
import { sessionEnded } from "../api/http.ts";
import type { OrbModel } from "../model/orb.ts";
import { refresh } from "../state/cache.ts";
import { isMac, shownKey } from "../state/commands.ts";
import { t } from "../texts/t.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Confirmation, Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { crumbs } from "../ui/page.tsx";
import { Toasts } from "../ui/toast.tsx";
import { AccountMenu } from "./account.tsx";
import { EditingBar } from "./editing.tsx";
import type { Route } from "./nav.ts";
import { usePages } from "./pages.ts";
import { openPalette, PaletteHost, useKeys } from "./palette.tsx";
import { Sidebar } from "./sidebar.tsx";

function Breadcrumb() {
  const way = crumbs.value;
  return (
    <nav class="crumbs" aria-label={t("app.breadcrumb")}>
      <ol>
        {way.map(({ label, to }, at) => (
          <li key={`${to} ${label}`}>
            {at === way.length - 1 ? (
              <span aria-current="page" dir="auto">
                {label}
              </span>
            ) : (
              <Link to={to}>
                <bdi>{label}</bdi>
              </Link>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Offers to sign in again in another tab, so that the user does not lose unsaved text. */
function SessionEnded({ caller }: { caller: Caller }) {
  if (!sessionEnded.value) return null;
  const close = () => {
    sessionEnded.value = false;
    refresh("");
  };
  return (
    <Dialog
      title={t("signin.ended")}
      onClose={close}
      actions={
        <>
          <a
            class="button primary"
            href={signinPage(caller.account?.realm ?? "platform")}
            target="_blank"
            rel="noreferrer"
          >
            {t("signin.again")}
          </a>
          <Button onClick={close}>{t("signin.continue")}</Button>
        </>
      }
    >
      <p class="dialog-text">{t("signin.endedText")}</p>
    </Dialog>
  );
}

export function Shell({
  routes,
  caller,
  orb,
  orbId,
  waiting,
  children,
}: {
  routes: readonly Route[];
  caller: Caller;
  orb: OrbModel | undefined;
  orbId: string | undefined;
  /** Whether the application is loading. */
  waiting: boolean;
  children: ComponentChildren;
}) {
  const [path] = useLocation();
  const [open, setOpen] = useState(false);
  useKeys();
  usePages({ routes, caller, orb, orbId });
  useLayoutEffect(() => setOpen(false), [path]);
  const signedIn = caller.account !== null;
  return (
    <div class={`shell ${open ? "nav-open" : ""} ${signedIn ? "" : "signed-out"}`}>
      <a class="skip" href="#main">
        {t("app.skip")}
      </a>
      <header class="top">
        {signedIn ? (
          <IconButton
            class="nav-toggle"
            label={open ? t("app.closeNavigation") : t("app.openNavigation")}
            icon={open ? "x" : "menu"}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          />
        ) : null}
        <Link to="/" class="brand">
          <Icon name="boxes" size={20} />
          <span>{t("app.name")}</span>
        </Link>
        {signedIn ? <Breadcrumb /> : null}
        <div class="top-end">
          {signedIn ? (
            <button
              type="button"
              class="search"
              onClick={openPalette}
              aria-keyshortcuts={isMac ? "Meta+K" : "Control+K"}
            >
              <Icon name="search" />
              <span>{t("app.search")}</span>
              <kbd>{shownKey("mod+k")}</kbd>
            </button>
          ) : null}
          <AccountMenu caller={caller} />
        </div>
      </header>
      {signedIn ? <EditingBar caller={caller} orb={orbId} /> : null}
      {signedIn ? (
        <div class="side">
          <Sidebar {...{ routes, caller, orb, orbId, waiting }} />
        </div>
      ) : null}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Toasts />
      {signedIn ? <SessionEnded caller={caller} /> : null}
      <Confirmation />
      <PaletteHost {...{ caller, orb }} />
    </div>
  );
}

/** The layout around every page: header, navigation and overlays. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { useLocation, useSearch } from "wouter-preact";
import { type Caller, isPlatformAdmin, signinPage } from "../api/caller.ts";
import { isActive, readChange } from "../api/changes.ts";
import { sessionEnded } from "../api/http.ts";
import type { OrbModel } from "../model/orb.ts";
import { refresh } from "../state/cache.ts";
import { changeIn, setsKey } from "../state/change.ts";
import { isMac, shownKey } from "../state/commands.ts";
import { useLoad, useReloadOnShow } from "../state/load.ts";
import { t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Confirmation, Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Link } from "../ui/link.tsx";
import { crumbs } from "../ui/page.tsx";
import { Toasts } from "../ui/toast.tsx";
import { AccountMenu } from "./account.tsx";
import { orbLink, type Route } from "./nav.ts";
import { usePages } from "./pages.ts";
import { openPalette, PaletteHost, useKeys } from "./palette.tsx";
import { Sidebar } from "./sidebar.tsx";

/** Says in which change set the user edits, and lets the user leave it. */
function Bar({ caller, orb, id }: { caller: Caller; orb: string; id: string }) {
  const [path, go] = useLocation();
  const search = useSearch();
  const place = { orb, managed: isPlatformAdmin(caller) };
  const loaded = useLoad(setsKey(orb, id, "set"), (signal) => readChange(place, id, signal));
  const { data, error } = loaded;
  useReloadOnShow(loaded);
  const leave = () => {
    const query = new URLSearchParams(search);
    query.set("change", "");
    go(`${path}?${query}`);
  };
  return (
    <section class="editing" aria-label={t("changes.set")}>
      <p role="status">
        <span class="editing-words">{t("changes.editing")}</span>{" "}
        <Link to={orbLink(orb, "changes", id)} class="editing-title">
          <bdi>{data?.title ?? (error === undefined ? "…" : id)}</bdi>
        </Link>
        {data === undefined || data.state === "OPEN" ? null : (
          <Badge tone={isActive(data) ? "info" : "warning"}>{t(`changes.state-${data.state}`)}</Badge>
        )}
        {error === undefined || data !== undefined ? null : <Badge tone="bad">{t("changes.notFound")}</Badge>}
      </p>
      <Button size="small" title={t("changes.leaveHint")} onClick={leave}>
        {t("changes.leave")}
      </Button>
    </section>
  );
}

function EditingBar({ caller, orb }: { caller: Caller; orb: string | undefined }) {
  const id = changeIn(orb);
  return id === undefined || orb === undefined ? null : <Bar key={id} {...{ caller, orb, id }} />;
}

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

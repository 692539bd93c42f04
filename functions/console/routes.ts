/**
 * All pages of the console. The first matching route wins. The browser loads the code of a section when the user
 * first visits the section.
 */
import { forAdmins, forAuthors, forEditors, forManagers, hasFiles, type Route } from "./shell/nav.ts";

export const ROUTES: readonly Route[] = [
  { path: "/", load: () => import("./home/home.tsx"), nav: { label: "nav.home", icon: "boxes" } },
  { path: "/account/:realm", load: () => import("./account/page.tsx"), asks: true },
  { path: "/orbs/new", load: () => import("./home/create.tsx"), visible: forAdmins },
  {
    path: "/orbs/:orb",
    load: () => import("./orb/overview.tsx"),
    nav: { label: "nav.overview", icon: "layers" },
  },
  {
    path: "/orbs/:orb/changes",
    load: () => import("./changes/list.tsx"),
    visible: forAuthors,
    nav: { label: "nav.changes", icon: "gitPullRequest" },
  },
  {
    path: "/orbs/:orb/changes/:change",
    load: () => import("./changes/review.tsx"),
    visible: forAuthors,
  },
  {
    path: "/orbs/:orb/media",
    load: () => import("./media/page.tsx"),
    visible: forEditors,
    fits: hasFiles,
    nav: { label: "nav.media", icon: "image" },
  },
  {
    path: "/orbs/:orb/activity",
    load: () => import("./activity/page.tsx"),
    visible: forAdmins,
    nav: { label: "nav.activity", icon: "activity" },
  },
  {
    path: "/orbs/:orb/trash",
    load: () => import("./trash/page.tsx"),
    visible: forAdmins,
    nav: { label: "nav.trash", icon: "trash" },
  },
  {
    path: "/orbs/:orb/people",
    load: () => import("./people/users.tsx"),
    visible: forManagers,
    nav: { label: "nav.people", icon: "users" },
  },
  {
    path: "/orbs/:orb/handlers",
    load: () => import("./handlers/handlers.tsx"),
    nav: { label: "nav.handlers", icon: "zap" },
  },
  {
    path: "/orbs/:orb/deliveries",
    load: () => import("./handlers/deliveries.tsx"),
    visible: forAdmins,
    nav: { label: "nav.deliveries", icon: "send" },
  },
  { path: "/orbs/:orb/api", load: () => import("./code/api.tsx"), nav: { label: "nav.api", icon: "code" } },
  {
    path: "/handlers",
    load: () => import("./handlers/registry.tsx"),
    visible: forAdmins,
    nav: { label: "nav.handlers", icon: "zap" },
  },
  {
    path: "/streams",
    load: () => import("./streams/streams.tsx"),
    visible: forAdmins,
    nav: { label: "nav.streams", icon: "radio" },
  },
  { path: "/streams/:name", load: () => import("./streams/tail.tsx"), visible: forAdmins },
  {
    path: "/admins",
    load: () => import("./people/admins.tsx"),
    visible: forAdmins,
    nav: { label: "nav.admins", icon: "users" },
  },
  {
    path: "/audit",
    load: () => import("./audit/audit.tsx"),
    visible: forAdmins,
    nav: { label: "nav.audit", icon: "scroll" },
  },
  { path: "/orbs/:orb/entries/:module/:schema/new", load: () => import("./entries/form/new.tsx") },
  {
    path: "/orbs/:orb/entries/:module/:schema/:id/history",
    load: () => import("./entries/history/history.tsx"),
  },
  { path: "/orbs/:orb/entries/:module/:schema/:id", load: () => import("./entries/form/edit.tsx") },
  {
    path: "/orbs/:orb/schema",
    load: () => import("./schema/page.tsx"),
    visible: forAdmins,
    nav: { label: "nav.schema", icon: "braces" },
  },
  {
    path: "/orbs/:orb/history",
    load: () => import("./schema/history.tsx"),
    visible: forAdmins,
    nav: { label: "nav.history", icon: "history" },
  },
  { path: "/orbs/:orb/entries/:module/:schema", load: () => import("./entries/table/table.tsx") },
];

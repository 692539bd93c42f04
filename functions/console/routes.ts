/** All pages. A section adds a line, and its code is loaded at the first visit. The first match wins. */
import type { Route } from "./shell/nav.ts";

export const ROUTES: readonly Route[] = [
  { path: "/", load: () => import("./home/home.tsx"), nav: { label: "nav.home", icon: "house" } },
  {
    path: "/orbs/:orb",
    load: () => import("./orb/overview.tsx"),
    nav: { label: "nav.overview", icon: "layers" },
  },
];

/** Icons from the package lucide-static. The bundle contains only the icons that are imported here. */

import activity from "lucide:activity";
import archive from "lucide:archive";
import arrowDown from "lucide:arrow-down";
import arrowUp from "lucide:arrow-up";
import bookmark from "lucide:bookmark";
import bot from "lucide:bot";
import boxes from "lucide:boxes";
import braces from "lucide:braces";
import check from "lucide:check";
import chevronDown from "lucide:chevron-down";
import chevronLeft from "lucide:chevron-left";
import chevronRight from "lucide:chevron-right";
import circleAlert from "lucide:circle-alert";
import circleCheck from "lucide:circle-check";
import circleUser from "lucide:circle-user";
import clipboardCopy from "lucide:clipboard-copy";
import clipboardPaste from "lucide:clipboard-paste";
import clock from "lucide:clock";
import code from "lucide:code";
import columns from "lucide:columns-3";
import copy from "lucide:copy";
import download from "lucide:download";
import ellipsis from "lucide:ellipsis";
import externalLink from "lucide:external-link";
import eye from "lucide:eye";
import fileText from "lucide:file-text";
import gitPullRequest from "lucide:git-pull-request";
import globe from "lucide:globe";
import gripVertical from "lucide:grip-vertical";
import house from "lucide:house";
import image from "lucide:image";
import info from "lucide:info";
import keyRound from "lucide:key-round";
import languages from "lucide:languages";
import layers from "lucide:layers";
import link from "lucide:link";
import filter from "lucide:list-filter";
import lock from "lucide:lock";
import logOut from "lucide:log-out";
import mail from "lucide:mail";
import menu from "lucide:menu";
import messageSquare from "lucide:message-square";
import minus from "lucide:minus";
import moon from "lucide:moon";
import pause from "lucide:pause";
import pencil from "lucide:pencil";
import play from "lucide:play";
import plus from "lucide:plus";
import radio from "lucide:radio";
import receipt from "lucide:receipt";
import redo from "lucide:redo-2";
import refresh from "lucide:refresh-cw";
import history from "lucide:rotate-ccw-clock";
import scale from "lucide:scale";
import scroll from "lucide:scroll-text";
import search from "lucide:search";
import send from "lucide:send";
import settings from "lucide:settings";
import sliders from "lucide:sliders-horizontal";
import sun from "lucide:sun";
import table from "lucide:table";
import toggle from "lucide:toggle-left";
import trash from "lucide:trash";
import triangleAlert from "lucide:triangle-alert";
import undo from "lucide:undo-2";
import upload from "lucide:upload";
import users from "lucide:users";
import webhook from "lucide:webhook";
import x from "lucide:x";
import zap from "lucide:zap";
import { h } from "preact";

const ICONS = {
  activity,
  archive,
  arrowDown,
  arrowUp,
  bookmark,
  bot,
  boxes,
  braces,
  check,
  chevronDown,
  chevronLeft,
  chevronRight,
  circleAlert,
  circleCheck,
  circleUser,
  clipboardCopy,
  clipboardPaste,
  clock,
  code,
  columns,
  copy,
  download,
  ellipsis,
  externalLink,
  eye,
  fileText,
  filter,
  gitPullRequest,
  globe,
  history,
  gripVertical,
  house,
  image,
  info,
  keyRound,
  languages,
  layers,
  link,
  lock,
  logOut,
  mail,
  menu,
  messageSquare,
  minus,
  moon,
  pause,
  pencil,
  play,
  plus,
  radio,
  receipt,
  scale,
  sliders,
  toggle,
  redo,
  refresh,
  scroll,
  search,
  send,
  settings,
  sun,
  table,
  trash,
  triangleAlert,
  undo,
  upload,
  users,
  webhook,
  x,
  zap,
} as const;

export type IconName = keyof typeof ICONS;

/** The elements of an icon that a part of the console imports itself, so that only this part contains it. */
export type IconNodes = readonly (readonly [name: string, attributes: Readonly<Record<string, string>>])[];

/** Icons that point forwards or backwards, so they are mirrored where the console runs from right to left. */
const DIRECTED: ReadonlySet<IconName> = new Set([
  "chevronLeft",
  "chevronRight",
  "externalLink",
  "logOut",
  "redo",
  "send",
  "undo",
]);

/**
 * Draws an icon. Screen readers ignore it, so a button without text needs a label.
 * @param directed whether to mirror it where the console runs from right to left
 */
export function Drawing({
  nodes,
  size = 16,
  directed = false,
}: {
  nodes: IconNodes;
  size?: number;
  directed?: boolean;
}) {
  return (
    <svg
      class={directed ? "icon directed" : "icon"}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {nodes.map(([tag, attributes], at) => h(tag, { ...attributes, key: at }))}
    </svg>
  );
}

export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <Drawing nodes={ICONS[name]} size={size} directed={DIRECTED.has(name)} />
);

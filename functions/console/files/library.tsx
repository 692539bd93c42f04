/** The list of a library of files: its filters and its grid. The page of the library and the picker show it. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import {
  type FilesPlace,
  type LibraryFile,
  type ListFilesOptions,
  listFiles,
  listTags,
} from "../api/files.ts";
import type { FieldModel } from "../model/orb.ts";
import { type Loaded, useLoad } from "../state/load.ts";
import { type TextKey, t } from "../texts/t.ts";
import { Badge } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { Empty, Shows } from "../ui/states.tsx";
import { Pager } from "../ui/table.tsx";
import { sizeText } from "./size.ts";
import { Thumbnail } from "./thumbnail.tsx";

/** Which files a list shows. */
export interface LibraryFilter {
  search: string;
  type: string;
  tag: string;
  only: string;
}

export const NO_FILTER: LibraryFilter = { search: "", type: "", tag: "", only: "" };

/** Files on a page. */
const PAGE = 24;
/** Milliseconds after the last key until the list is searched. */
const TYPING_MS = 300;

/** Stands for a field, so that inputs of fields can be used without one. */
export const ANY_FILE: FieldModel = {
  name: "file",
  type: "file",
  list: true,
  variants: [{ w: 320, h: 320, fit: "contain", format: "webp" }],
};

export const filesKey = (orb: string, rest = ""): string => `orbs/${orb}/library/${rest}`;

/** Loads a page of the library. */
export function useLibrary(place: FilesPlace, filter: LibraryFilter, cursor: string | undefined) {
  const { search, type, tag, only } = filter;
  const options: ListFilesOptions = {
    ...(search === "" ? {} : { search }),
    ...(type === "" ? {} : { type }),
    ...(tag === "" ? {} : { tag }),
    ...(only === "unused" || only === "replaced" ? { only } : {}),
    ...(cursor === undefined ? {} : { cursor }),
    limit: PAGE,
  };
  return useLoad(filesKey(place.orb, `list/${JSON.stringify(options)}`), (signal) =>
    listFiles(place, { ...options, signal }),
  );
}

/** Loads the tags of all files. */
export const useTags = (place: FilesPlace) =>
  useLoad(filesKey(place.orb, "tags"), (signal) => listTags(place, signal));

export const isImage = ({ type }: Pick<LibraryFile, "type">): boolean => type.startsWith("image/");

/** The picture of a file, or an icon. */
export function FilePicture({ file }: { file: LibraryFile }) {
  const { id, revision } = file;
  return (
    <span class="media-picture">
      {isImage(file) ? (
        // A new crop has another picture under the same address.
        <Thumbnail key={`${id} ${revision}`} field={ANY_FILE} value={{ ...file, file: id }} />
      ) : (
        <Icon name="fileText" size={40} />
      )}
    </span>
  );
}

/** The files that the user has selected, by id. */
export type Selected = ReadonlyMap<string, LibraryFile>;

function Tile({
  file,
  onOpen,
  selected,
  onSelect,
}: {
  file: LibraryFile;
  onOpen: (file: LibraryFile) => void;
  selected: boolean;
  onSelect: ((file: LibraryFile) => void) | undefined;
}) {
  const { name, size, width, height, uses, alt } = file;
  const pixels = width === undefined || height === undefined ? "" : ` · ${width} × ${height}`;
  return (
    <li class={`media-item ${selected ? "selected" : ""}`}>
      {onSelect === undefined ? null : (
        <label class="media-check">
          <input
            type="checkbox"
            aria-label={t("media.select", { name })}
            checked={selected}
            onChange={() => onSelect(file)}
          />
        </label>
      )}
      <button type="button" class="media-tile" onClick={() => onOpen(file)}>
        <FilePicture file={file} />
        <span class="media-name" dir="auto">
          {name}
        </span>
        <span class="hint" dir="auto">
          {sizeText(size)}
          {pixels}
        </span>
        <span class="media-badges">
          {uses === 0 ? <Badge>{t("media.unused")}</Badge> : null}
          {isImage(file) && Object.keys(alt).length === 0 ? (
            <Badge tone="warning">{t("media.noAlt")}</Badge>
          ) : null}
        </span>
      </button>
    </li>
  );
}

/** The types of files to choose from, and their names. */
const TYPES: Readonly<Record<string, TextKey>> = {
  "image/*": "media.typeImage",
  "video/*": "media.typeVideo",
  "audio/*": "media.typeAudio",
  "application/pdf": "media.typePdf",
  "text/*": "media.typeText",
};

/** Chooses a tag of all files. Shows nothing if there is none. */
function TagFilter({
  place,
  filter,
  onChange,
}: {
  place: FilesPlace;
  filter: LibraryFilter;
  onChange: (filter: LibraryFilter) => void;
}) {
  const { data = [] } = useTags(place);
  const { tag } = filter;
  const tags = tag === "" || data.includes(tag) ? data : [tag, ...data];
  if (tags.length === 0) return null;
  return (
    <select
      aria-label={t("media.tag")}
      value={tag}
      onChange={(event) => onChange({ ...filter, tag: event.currentTarget.value })}
    >
      <option value="">{t("media.anyTag")}</option>
      {tags.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  );
}

/** The inputs that choose which files the list shows. */
export function LibraryFilters({
  place,
  filter,
  onChange,
  types = Object.keys(TYPES),
  picks,
}: {
  place: FilesPlace;
  filter: LibraryFilter;
  onChange: (filter: LibraryFilter) => void;
  /** The types to choose from. */
  types?: readonly string[];
  /** Whether the list is for choosing a file, and so has no replaced ones. */
  picks?: boolean;
}) {
  const [text, setText] = useState(filter.search);
  useEffect(() => {
    if (text === filter.search) return;
    const timer = setTimeout(() => onChange({ ...filter, search: text }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <search class="media-filters">
      <input
        type="search"
        aria-label={t("media.search")}
        placeholder={t("media.search")}
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onChange({ ...filter, search: text });
        }}
      />
      <select
        aria-label={t("media.type")}
        value={filter.type}
        onChange={(event) => onChange({ ...filter, type: event.currentTarget.value })}
      >
        <option value="">{t("media.anyType")}</option>
        {types.map((type) => {
          const name = TYPES[type];
          return (
            <option key={type} value={type}>
              {name === undefined ? type : t(name)}
            </option>
          );
        })}
      </select>
      {picks === true ? null : (
        <select
          aria-label={t("media.which")}
          value={filter.only}
          onChange={(event) => onChange({ ...filter, only: event.currentTarget.value })}
        >
          <option value="">{t("media.all")}</option>
          <option value="unused">{t("media.onlyUnused")}</option>
          <option value="replaced">{t("media.onlyReplaced")}</option>
        </select>
      )}
      <TagFilter {...{ place, filter, onChange }} />
    </search>
  );
}

/** The tags of the files that are shown, to choose one. */
function Tags({
  files,
  filter,
  onChange,
}: {
  files: readonly LibraryFile[];
  filter: LibraryFilter;
  onChange: (filter: LibraryFilter) => void;
}) {
  const tags = [...new Set(files.flatMap((file) => file.tags))].sort();
  if (tags.length === 0 || filter.tag !== "") return null;
  return (
    <ul class="media-tags" aria-label={t("media.tags")}>
      {tags.map((tag) => (
        <li key={tag}>
          <button
            type="button"
            class="button plain small"
            onClick={() => onChange({ ...filter, tag })}
            dir="auto"
          >
            {tag}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The files of a page, with buttons for the pages before and after. */
export function FileGrid({
  files,
  filter,
  cursors,
  onFilter,
  onCursors,
  onOpen,
  empty,
  selected,
  onSelect,
}: {
  files: Loaded<{ items: readonly LibraryFile[]; nextCursor: string | null }>;
  filter: LibraryFilter;
  cursors: readonly string[];
  onFilter: (filter: LibraryFilter) => void;
  onCursors: (cursors: readonly string[]) => void;
  onOpen: (file: LibraryFile) => void;
  /** Shown if there are no files at all: says how to add some. */
  empty?: ComponentChildren;
  selected?: Selected;
  /** Selects a file, or no longer. Without it, files cannot be selected. */
  onSelect?: ((file: LibraryFile) => void) | undefined;
}) {
  const isFiltered = Object.values(filter).some((value) => value !== "");
  return (
    <Shows of={files}>
      {({ items, nextCursor }) => (
        <>
          <Tags files={items} filter={filter} onChange={onFilter} />
          {items.length > 0 ? (
            <ul class="media-grid" aria-label={t("media.files")}>
              {items.map((file) => (
                <Tile
                  key={file.id}
                  selected={selected?.has(file.id) === true}
                  {...{ file, onOpen, onSelect }}
                />
              ))}
            </ul>
          ) : nextCursor !== null ? (
            <p class="hint">{t("media.searchOn")}</p>
          ) : (
            <Empty icon="fileText" title={t(isFiltered ? "media.noneFound" : "media.none")}>
              {isFiltered ? null : empty}
            </Empty>
          )}
          <Pager cursors={cursors} next={nextCursor} onChange={onCursors} />
        </>
      )}
    </Shows>
  );
}

import { useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, otherFaults, ProblemBox } from "../ui/problem.tsx";
import type { Submit } from "./submit.ts";

/** Derives an id from a name: `My shop` becomes `my-shop`. */
export const idOf = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+|-+$/g, "")
    .slice(0, 63);

/** Content of the new application: one schema with a title and a text. */
function contentOf(name: string): object {
  return {
    id: "content",
    type: "CONTENT",
    name: t("create.module"),
    schemas: [
      {
        id: idOf(name),
        name,
        fields: [
          {
            name: "title",
            type: "string",
            label: t("create.fieldTitle"),
            required: true,
            translatable: true,
          },
          { name: "body", type: "text", label: t("create.fieldBody"), translatable: true },
        ],
      },
    ],
  };
}

/** The form for a blank application. It includes one content type, so that the application is useful immediately. */
export function BlankForm({ busy, error, submit }: Submit) {
  const [name, setName] = useState("");
  const [id, setId] = useState<string>();
  const [languages, setLanguages] = useState("en");
  const [content, setContent] = useState("");
  const [accounts, setAccounts] = useState(true);
  const [publish, setPublish] = useState(true);
  const faults = faultsOf(error);
  const shownId = id ?? idOf(name);
  const shown = ["/name", "/id", "/languages"];
  const document = {
    id: shownId,
    ...(name === "" ? {} : { name }),
    languages: languages
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
    uses: accounts ? [{ service: "access", handlers: ["passkey", "invitations"] }] : [],
    modules: idOf(content) === "" ? [] : [contentOf(content)],
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) void submit(document, publish);
      }}
    >
      {error !== undefined && (faults.length === 0 || otherFaults(faults, shown).length > 0) ? (
        <ProblemBox error={error} />
      ) : null}
      <TextField
        label={t("create.name")}
        value={name}
        onChange={setName}
        error={faultAt(faults, "/name")}
        placeholder={t("create.nameExample")}
      />
      <TextField
        label={t("create.id")}
        hint={t("create.idHint", { id: shownId === "" ? "…" : shownId })}
        value={shownId}
        onChange={setId}
        error={faultAt(faults, "/id")}
        required
        spellcheck={false}
      />
      <TextField
        label={t("create.languages")}
        hint={t("create.languagesHint")}
        value={languages}
        onChange={setLanguages}
        error={faultAt(faults, "/languages")}
        spellcheck={false}
      />
      <TextField
        label={t("create.content")}
        hint={t("create.contentHint")}
        value={content}
        onChange={setContent}
        placeholder={t("create.contentExample")}
      />
      <div class="field">
        <Checkbox
          label={t("create.accounts")}
          hint={t("create.accountsHint")}
          checked={accounts}
          onChange={setAccounts}
        />
        <Checkbox
          label={t("create.publish")}
          hint={t("create.publishHint")}
          checked={publish}
          onChange={setPublish}
        />
      </div>
      <div class="form-actions">
        <Button kind="primary" type="submit" busy={busy} disabled={shownId === ""}>
          {t("create.submit")}
        </Button>
      </div>
    </form>
  );
}

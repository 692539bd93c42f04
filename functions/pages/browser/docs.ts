/** Script of the API page. It starts Swagger UI and hides details that readers rarely need. */
declare global {
  /** Starts Swagger UI. Defined in swagger-ui-bundle.js. */
  function SwaggerUIBundle(options: object): unknown;
}

/** The members of React that the script uses. Swagger UI passes React to its plugins. */
interface React {
  createElement(type: unknown, properties: object | null, ...children: unknown[]): unknown;
  useState<T>(initial: T): [T, (next: T) => void];
  Fragment: unknown;
}

interface Parameter {
  $ref?: string;
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: { type?: string; example?: unknown; default?: unknown };
}

interface Operation {
  parameters?: Parameter[];
  security?: Record<string, unknown>[];
}

interface Description {
  info: { title: string };
  "x-orbs"?: { id: string; name?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    parameters: Record<string, Parameter>;
    securitySchemes: Record<string, { in?: string }>;
  };
}

const orb = new URLSearchParams(location.search).get("orb");
const byId = (id: string) => document.getElementById(id);

// Swagger UI switches to dark colours when the page has this class.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

/** Shows a message in place of the API description. */
function say(text: string): void {
  const words = Object.assign(document.createElement("p"), { className: "words", textContent: text });
  byId("docs")?.replaceChildren(words);
  if (orb === null) return;
  const whole = Object.assign(document.createElement("a"), { href: "/api/docs" });
  whole.textContent = "The whole platform";
  words.append(" ", whole);
}

async function load(): Promise<Description> {
  const query = orb === null ? "" : `?orb=${encodeURIComponent(orb)}`;
  const answer = await fetch(`/api/openapi${query}`).catch(() => null);
  if (answer?.ok) return (await answer.json()) as Description;
  const unknown = orb !== null && answer?.status === 404;
  throw new Error(
    unknown
      ? `No orb “${orb}” is published.`
      : "The API description cannot be loaded. Try again in a few seconds.",
  );
}

const operationsOf = ({ paths }: Description) => Object.values(paths).flatMap((item) => Object.values(item));

/**
 * Removes cookies from the credentials that users can enter. Scripts cannot set the Cookie header, and browsers send
 * cookies anyway.
 */
function removeCookies(description: Description): void {
  const schemes = description.components.securitySchemes;
  const cookies = new Set(Object.keys(schemes).filter((name) => schemes[name]?.in === "cookie"));
  for (const name of cookies) delete schemes[name];
  for (const operation of operationsOf(description)) {
    const ways = operation.security?.filter((way) => !Object.keys(way).some((name) => cookies.has(name)));
    if (ways !== undefined) operation.security = ways;
  }
}

/** Moves examples and defaults of optional parameters into the description. Otherwise "Try it out" would send them. */
function emptyOptional(description: Description): void {
  const all = [
    ...Object.values(description.components.parameters),
    ...operationsOf(description).flatMap(({ parameters }) => parameters ?? []),
  ];
  for (const parameter of all) {
    const { schema } = parameter;
    if (parameter.required === true || schema === undefined || schema.type === "object") continue;
    const example = parameter.example ?? schema.example;
    const notes = [
      parameter.description?.replace(/\.?$/, "."),
      schema.default === undefined ? "" : `Default: \`${schema.default}\`.`,
      example === undefined ? "" : `Example: \`${example}\`.`,
    ];
    const text = notes.filter(Boolean).join(" ");
    if (text !== "") parameter.description = text;
    delete parameter.example;
    delete schema.example;
    delete schema.default;
  }
}

/** Adds attributes for screen readers and keyboards that Swagger UI omits. */
function complete(): void {
  for (const [selector, attributes] of [
    ["#servers", { "aria-label": "Server" }],
    ["#docs h3", { "aria-level": "2" }],
    ["#docs h4", { "aria-level": "3" }],
    ["#docs h5", { "aria-level": "4" }],
    ["pre.microlight", { tabindex: "0" }],
  ] as const) {
    for (const element of document.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    }
  }
  for (const row of document.querySelectorAll("tr[data-param-name]")) {
    const name = row.getAttribute("data-param-name") ?? "";
    for (const field of row.querySelectorAll("input, select, textarea"))
      field.setAttribute("aria-label", name);
  }
}

/**
 * Replaces a link inside a button with text, because keyboard users cannot reach the link. The button has the same
 * effect.
 */
const plainNames = ({ React }: { React: React }) => ({
  wrapComponents: {
    DeepLink: () =>
      function Name({ text }: { text: unknown }) {
        return React.createElement("span", null, text);
      },
  },
});

/**
 * Shows descriptions as text with code spans. Swagger UI would render the HTML in them, and the descriptions of orbs,
 * handlers and fields are text that users wrote.
 */
const plainDescriptions = ({ React }: { React: React }) => ({
  wrapComponents: {
    Markdown: () =>
      function Words({ source, className }: { source?: unknown; className?: string }) {
        const h = React.createElement;
        if (typeof source !== "string" || source.trim() === "") return null;
        const words = (text: string) =>
          text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 0 ? part : h("code", null, part)));
        const paragraphs = source.trim().split(/\n\s*\n/);
        return h(
          "div",
          { className: `markdown ${className ?? ""}`, dir: "auto" },
          ...paragraphs.map((text) => h("p", null, ...words(text))),
        );
      },
  },
});

/** Replaces the layout of Swagger UI, which contains a second `main` element. */
const pageLayout = ({ React }: { React: React }) => ({
  components: {
    PageLayout({ getComponent }: { getComponent(name: string, connected?: boolean): unknown }) {
      const h = React.createElement;
      const part = (name: string) => h(getComponent(name, true), null);
      const block = (className: string, ...children: unknown[]) => h("div", { className }, ...children);
      return block(
        "swagger-ui",
        h(getComponent("SvgAssets"), null),
        block("wrapper information-container", part("InfoContainer")),
        block(
          "scheme-container",
          block("schemes wrapper", part("ServersContainer"), part("AuthorizeBtnContainer")),
        ),
        part("FilterContainer"),
        block("wrapper", part("operations")),
        block("wrapper", part("Models")),
      );
    },
  },
});

/**
 * Shows the example of an error response only after a click, because one operation has up to nine similar examples.
 */
const collapseErrors = ({ React }: { React: React }) => ({
  wrapComponents: {
    response: (Original: unknown) =>
      function Response(properties: { code: string; response: { get(key: string): unknown } }) {
        const h = React.createElement;
        const [open, setOpen] = React.useState(false);
        const { code, response } = properties;
        const original = h(Original, properties);
        if (!/^[45]/.test(code)) return original;
        const toggle = h(
          "button",
          { type: "button", "aria-expanded": open, onClick: () => setOpen(!open) },
          String(response.get("description") ?? "Error"),
        );
        const row = h(
          "tr",
          { className: "response error" },
          h("td", { className: "response-col_status" }, code),
          h("td", { colSpan: 2 }, toggle),
        );
        return open ? h(React.Fragment, null, row, original) : row;
      },
  },
});

/** Offers the descriptions of the published orbs, which the description of the platform lists. */
function offerOrbs({ "x-orbs": orbs = [] }: Description): void {
  if (orbs.length === 0) return;
  const choice = document.createElement("select");
  choice.append(new Option("Routes of the platform", ""));
  for (const { id, name } of orbs) choice.append(new Option(name === undefined ? id : `${name} (${id})`, id));
  choice.addEventListener("change", () => {
    if (choice.value !== "") location.search = new URLSearchParams({ orb: choice.value }).toString();
  });
  choice.style.maxWidth = "100%";
  const label = document.createElement("label");
  label.append("Show the API of an orb: ", choice);
  byId("header")?.append(document.createElement("br"), label);
}

function show(description: Description): void {
  const docs = byId("docs");
  if (docs !== null) new MutationObserver(complete).observe(docs, { childList: true, subtree: true });
  document.title = `${description.info.title} · API`;
  SwaggerUIBundle({
    spec: description,
    dom_id: "#docs",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    filter: true,
    validatorUrl: null,
    withCredentials: true,
    syntaxHighlight: { theme: "obsidian" },
    layout: "PageLayout",
    plugins: [collapseErrors, plainNames, plainDescriptions, pageLayout],
  });
}

/** Updates the sign-in links, so that users return to the operation that is open on the page. */
function keepPlace(): void {
  const here = location.pathname + location.search + location.hash;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a.signin")) {
    link.search = `?return=${encodeURIComponent(here)}`;
  }
}

const header = byId("header");
// Swagger UI changes the hash of the URL without an event, so update the links before the user can click them.
for (const touch of ["pointerover", "focusin"]) header?.addEventListener(touch, keepPlace);

byId("signout")?.addEventListener("click", async ({ currentTarget }) => {
  if (!(currentTarget instanceof HTMLButtonElement)) return;
  const answer = await fetch(`${currentTarget.dataset.realm}/signout`, { method: "POST" }).catch(() => null);
  if (answer?.ok || answer?.status === 401) location.reload();
  else currentTarget.textContent = "Sign out (failed, try again)";
});

load()
  .then((description) => {
    removeCookies(description);
    emptyOptional(description);
    show(description);
    offerOrbs(description);
  })
  .catch((error: Error) => say(error.message));

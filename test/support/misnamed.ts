/**
 * Statements for the typed client, each with one name that can be right or wrong. `‹right¦wrong›` marks the name. The
 * right statement must compile, and the wrong one must not.
 */

const FILES = [
  { name: "image", type: "file" },
  { name: "papers", type: "file", list: true },
];
/** The orb of the statements about files. The others are about the example `shop`. */
export const ALBUM = {
  id: "album",
  modules: [{ id: "pictures", type: "CONTENT", schemas: [{ id: "picture", fields: FILES }] }],
};

/** Statements for any schema: `at` is the collection, `field` and `other` are fields of type string. */
function ofSchema(at: string, field: string, other: string): string[] {
  const wrong = `${field}x`;
  const name = `‹${field}¦${wrong}›`;
  const filters = [
    `{ ${name}: "x" }`,
    `{ ${name}: "x", ${other}: "y" }`,
    `{ ${name}: { in: ["x"] } }`,
    `{ ${field}: { ‹eq¦equals›: "x" } }`,
    `{ ${field}: { ‹startsWith¦startWith›: "x", contains: "y" } }`,
    `{ ${field}: ‹"x"¦5› }`,
    `{ ${field}: { eq: ‹"x"¦5›, ne: "y" } }`,
    `{ ${field}: { in: [‹"x"¦true›] } }`,
    `{ ${field}: { null: ‹true¦"true"› } }`,
    `{ ‹createdAt¦createdOn›: { gte: new Date() } }`,
    `{ ‹createdBy¦author›: "x", ${field}: "x" }`,
    `{ id: { ‹in¦contains›: "x" as never } }`,
    `{ ‹or¦any›: [{ ${field}: "x" }] }`,
    `{ or: [{ ${field}: "x" }, { ${name}: "x" }] }`,
    `{ and: [{ ${field}: "x", ‹${other}¦${other}x›: "x" }] }`,
    `{ not: { ${name}: "x" } }`,
    `{ not: { or: [{ not: { ${other}: "y", ${name}: "x" } }] } }`,
  ];
  const orders = [`${name}`, `-${name}`, `‹createdAt¦createdOn›`, `-‹updatedAt¦changedAt›`];
  return [
    ...filters.flatMap((filter) => [
      `${at}.list({ filter: ${filter} })`,
      `${at}.list({ filter: ${filter}, sort: "id", limit: 5, locale: "en", expand: [] })`,
    ]),
    ...[`{ ${name}: "x" }`, `{ ${name}: "x", ${other}: "y" }`].flatMap((filter) => [
      `${at}.all({ filter: ${filter} })`,
      `${at}.aggregate({ filter: ${filter}, aggregate: { n: "count" } })`,
      `${at}.live({ filter: ${filter} }, () => undefined)`,
      `${at}.patchAll({ filter: ${filter} }, {})`,
      `${at}.deleteAll({ filter: ${filter} })`,
    ]),
    ...orders.flatMap((order) => [
      `${at}.list({ sort: "${order}" })`,
      `${at}.all({ sort: ["id", "${order}"], limit: 5 })`,
      `${at}.live({ sort: ["${order}"] }, () => undefined)`,
    ]),
    ...["list({ limit: 5, ", 'all({ locale: "en", ', 'get("0", { '].map(
      (call) => `${at}.${call}fields: ["${other}", "${name}"] })`,
    ),
    `${at}.live({ fields: ["${name}"] }, () => undefined)`,
    `${at}.list({ missing: "‹de¦fr›" })`,
    `${at}.list({ fallback: "‹none¦any›" })`,
    `${at}.get("0", { revision: "‹latest¦newest›" })`,
    // Names of options, also beside known ones.
    `${at}.list({ ‹filter¦filters›: { ${field}: "x" } })`,
    `${at}.list({ limit: 5, ‹count¦total›: true })`,
    `${at}.all({ limit: 5, ‹sort¦order›: "${field}" })`,
    `${at}.live({ ‹search¦query›: "x", sort: "id" }, () => undefined)`,
    `${at}.get("0", { locale: "en", ‹at¦as›: new Date() })`,
    `${at}.delete("0", { ‹force¦forced›: true })`,
    `${at}.publish("0", { ‹signal¦abort›: new AbortController().signal })`,
    `${at}.revisions("0", { limit: 5, ‹sort¦order›: "revision" })`,
    `${at}.patchAll({ all: true }, {}, { publish: true, ‹dryRun¦dry›: true })`,
    `${at}.deleteAll({ ‹all¦every›: true })`,
    // Names of values.
    ...["update({ id: '0', revision: 1 }, ", 'patch("0", ', "patchAll({ all: true }, "].flatMap((call) => [
      `${at}.${call}{ ${name}: "x" })`,
      `${at}.${call}{ ${other}: "y", ${name}: "x" })`,
      `${at}.${call}{ ${other}: ‹"y"¦5› })`,
      `${at}.${call}{ ${other}: "y" }, { publish: true, ‹validFrom¦from›: null })`,
    ]),
    `${at}.aggregate({ aggregate: { n: "count(${name})" } })`,
    `${at}.aggregate({ aggregate: { n: "count", most: "max(${name})" } })`,
    `${at}.aggregate({ aggregate: { n: "‹count¦number›" } })`,
    `${at}.aggregate({ aggregate: { n: "sum(‹revision¦${field}›)" } })`,
    `${at}.aggregate({ aggregate: { n: "count" }, group: ["‹createdBy¦${field}›"] })`,
    `${at}.aggregate({ aggregate: { n: "count" }, search: "x", ‹locale¦language›: "en" })`,
    `${at}.aggregate({ aggregate: { n: "count" } }).then(([first]) => first?.values.‹n¦m›)`,
  ];
}

const category = "shop.catalog.category";
const product = "shop.catalog.product";
const article = "shop.news.article";
const lamp = 'title: { en: "Lamp" }, sku: "AB-1000", price: 5';

const STATEMENTS = [
  // A schema without a reference, one with a reference, and one with a list of references.
  ...ofSchema(category, "slug", "title"),
  ...ofSchema(product, "sku", "title"),
  // Values of unique fields that address an entry.
  ...[`${product}.get({`, `${product}.patch({`, `${product}.delete({`, `${product}.put({`].flatMap((call) => {
    const rest = call.includes("get") || call.includes("delete") ? "" : ", {}";
    return [
      `${call} ‹sku¦title›: "x" }${rest})`,
      `${call} ‹sku¦skus›: "x" }${rest})`,
      `${call} sku: ‹"x"¦5› }${rest})`,
    ];
  }),
  `${product}.put({ sku: "x" }, { ‹price¦cost›: {} })`,
  ...ofSchema(article, "headline", "body"),
  `${category}.list({ expand: [‹¦"slug"›] })`,
  `${product}.list({ expand: ["‹category¦sku›"] })`,
  `${product}.all({ limit: 5, expand: ["‹category¦categories›"] })`,
  `${article}.get("0", { locale: "en", expand: ["‹products¦product›"] })`,
  `${product}.list({ expand: ["category"] }).then(({ items }) => items[0]?.expand.‹category¦title›)`,
  `${product}.list({ filter: { "category.‹slug¦slugs›": "x" } })`,
  `${product}.list({ filter: { sku: "x", "‹category¦condition›.slug": "x" } })`,
  `${product}.list({ filter: { "category.slug": { ‹startsWith¦startWith›: "x" } } })`,
  `${product}.list({ filter: { "category.position": { gte: ‹5¦"5"› } } })`,
  `${product}.deleteAll({ filter: { "category.‹slug¦slugs›": "x" } })`,
  `${article}.list({ filter: { not: { "products.‹sku¦slug›": "x" } } })`,
  `${article}.list({ filter: { products: { ‹contains¦in›: "0" as never } } })`,
  `${product}.live({ filter: { "‹sku¦category.slug›": "x" } }, () => undefined)`,
  `${product}.list({ filter: { condition: "‹new¦broken›" } })`,
  `${product}.list({ filter: { condition: { in: ["used", "‹new¦broken›"] } } })`,
  `${product}.list({ filter: { released: { gte: ‹"2026-01-01"¦5› } } })`,
  `${product}.list({ filter: { available: { eq: ‹true¦"true"› } } })`,
  `${product}.list({ filter: { ‹available¦supplierNote›: null } })`,
  `${product}.list({ filter: { attributes: { ‹null¦eq›: true } } })`,
  `${product}.list({ sort: "‹condition¦tags›" })`,
  `${product}.list({ sort: "-‹price¦body›" })`,
  `${product}.aggregate({ aggregate: { total: "sum(‹price¦title›)" } })`,
  `${product}.aggregate({ aggregate: { n: "count" }, group: ["‹condition¦price›", "available", "category"] })`,
  `${product}.create({ ${lamp}, ‹tags¦tag›: ["light"] })`,
  `${product}.create({ ${lamp}, offer: { US: { ‹en¦fr›: "x" } } })`,
  `${product}.create({ ${lamp}, offer: { ‹US¦UK›: { en: "x" } } })`,
  `${product}.create({ ${lamp}, condition: "‹new¦broken›" }, { publish: true })`,
  `${category}.create({ title: { ‹en¦fr›: "x" }, slug: "x" })`,
  `${category}.create({ title: "x", slug: "x", ‹position¦place›: 5 }, { locale: "en" })`,
  `${category}.create({ title: "x", slug: "x" }, { locale: "en", ‹publish¦published›: true })`,
  `${category}.patch("0", { title: { ‹de¦fr›: null } })`,
  `${product}.patch("0", { offer: { EU: { ‹de¦fr›: null } } })`,
  `${category}.get("0", { locale: "en" }).then(({ values }) => values.‹slug¦name›.length)`,
  `${product}.get("0", { locale: "‹en¦*›" }).then(({ values }) => values.title.toUpperCase())`,
  `${product}.get("0").then(({ values }) => values.title.‹de?.¦›toUpperCase())`,
  `german.catalog.product.get("0").then(({ values }) => values.title‹¦.de›.toUpperCase())`,
  `${product}.list({ limit: 5, locale: language }).then(({ items }) => items[0]?.values.title‹¦.de›.toUpperCase())`,
  `shop.reviews.review.get("0").then(({ values }) => values.text‹?.¦.›length)`,
  `shop.reviews.review.get("0").then(({ values }): string | null‹ | undefined¦› => values.text)`,
  `shop.reviews.review.create({ product: "0", stars: ‹5¦"5"› })`,
  `${product}.create({ title: "Lamp", sku: "AB-1000"‹, price: 5¦› }, { locale: "en" })`,
  `album.pictures.picture.create({ image: ‹{ file: "0" }¦"0"› })`,
  `album.pictures.picture.create({ papers: ‹[{ file: "0" }]¦{ file: "0" }› })`,
  `album.pictures.picture.create({ image: { ‹file¦id›: "0" } })`,
  `album.pictures.picture.patch("0", { papers: [{ file: "0", ‹name¦title›: "x" }] })`,
  `album.pictures.picture.list({ filter: { image: { ‹null¦eq›: true } } })`,
  `album.pictures.picture.list({ sort: "‹id¦image›" })`,
  // Names of orbs, modules, schemas and handlers.
  `client.orb("‹shop¦shops›")`,
  `client.files("‹album¦albums›")`,
  `shop.‹catalog¦catalogue›.product.list()`,
  `shop.catalog.‹product¦products›.list()`,
  `shop.call("‹settings.get¦settings.read›", {})`,
  // Only modules of some types have routes for their entries.
  `shop.‹reviews.review¦discounts.discount›.list()`,
  `shop.call("transactions.record", { values: { total: 5, currency: "‹EUR¦GBP›", items: [1] } })`,
  `shop.call("settings.set", { values: { pageSize: ‹20¦"many"› } })`,
  `shop.call("settings.get", { module: "‹preferences¦preference›" })`,
  `shop.call("settings.get", { scope: "‹user¦users›" })`,
  `shop.call("settings.get", { ‹scope¦realm›: "user" })`,
  `shop.call("settings.set", { values: { ‹theme¦themes›: "dark" } })`,
  `shop.call("settings.set", { values: { theme: "‹dark¦black›", pageSize: 20 } })`,
  `shop.call("settings.set", { values: { pageSize: 20, ‹newsletter¦letters›: true } })`,
  `shop.call("transactions.record", { values: { total: 5, currency: "EUR", items: [1], ‹placedAt¦placed›: "x" } })`,
  `shop.call("transactions.record", { values: { total: 5, currency: "EUR", items: [1] }, ‹schema¦scheme›: "order" })`,
  `shop.call("transactions.list", { ‹limit¦size›: 5 })`,
  `shop.call("transactions.list", { limit: 5, order: "‹desc¦down›" })`,
  `shop.call("rules.evaluate", { ‹facts¦fact›: {} })`,
  `shop.call("rules.evaluate", { facts: {}, module: "‹discounts¦rebates›" })`,
  `shop.call("rules.evaluate", { facts: {}, schema: "‹discount¦rebate›" })`,
  `shop.call("rules.evaluate", { facts: {}, mode: "‹first¦one›" })`,
  `shop.call("rules.evaluate", { facts: {} }, { ‹idempotencyKey¦key›: "x" })`,
  `shop.call("settings.get", {}).then(({ values }) => values.‹theme¦themes›)`,
  // Options of the client itself.
  `createClient({ url: "", ‹token¦tokens›: "x" })`,
  `createClient({ url: "", credentials: "‹include¦all›", locale: "en" })`,
  `client.signIn({ ‹realm¦orb›: "shop" })`,
  `client.register({ realm: "shop", ‹invite¦invitation›: "x" })`,
  `client.signOut({ ‹realm¦orb›: "shop" })`,
  `client.stream("x", { ‹offset¦from›: "now" })`,
  `client.files("album").upload(new Blob([]), { ‹name¦title›: "a.txt" })`,
  `client.files("album").download("0", { range: { ‹start¦from›: 0 } })`,
];

const HEADER = `import { createClient } from "composable-platform/client";
import type { Orbs } from "./orbs.d.ts";
const client = createClient<Orbs>({ url: "" });
const [shop, album] = [client.orb("shop"), client.orb("album")];
const german = createClient<Orbs>({ url: "", locale: "de" }).orb("shop");
const language: string = "de";
`;

/** A program of all right statements and one of all wrong ones, in which the compiler must refuse each statement. */
export const NAMED = {
  right: HEADER + STATEMENTS.map((text) => `${text.replace(/‹(.*?)¦.*?›/g, "$1")};\n`).join(""),
  wrong:
    HEADER +
    STATEMENTS.map((text) => `// @ts-expect-error\n${text.replace(/‹.*?¦(.*?)›/g, "$1")};\n`).join(""),
};

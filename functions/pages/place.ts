/** Places on the page where messages can appear. Each is next to the buttons whose results it shows. */
export type Place = "enter" | "program";

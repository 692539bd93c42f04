/** Name, logo and colour of an application's sign-in page. */
import { z } from "zod";
import { textFlaw } from "./text.ts";

/**
 * Maximum characters of a logo. The logo is in every sign-in page and in every revision of the application's
 * document.
 */
const MAX_LOGO = 32_768;

const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

/**
 * Returns whether a page can show the logo. A URL must not contain wildcards or credentials, because it becomes part
 * of a Content-Security-Policy.
 */
function isLogo(text: string): boolean {
  if (DATA_IMAGE.test(text)) return true;
  if (!/^https:\/\//.test(text) || !URL.canParse(text)) return false;
  const { hostname, username, password } = new URL(text);
  return /^[a-z0-9.-]+$/.test(hostname) && username === "" && password === "";
}

export const brandingSchema = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .refine((text) => textFlaw(text) === undefined, {
        error: ({ input }) => textFlaw(String(input)) ?? "",
        params: { code: "text" },
      })
      .optional()
      .meta({
        description: "Name on the page and in the browser's passkey dialog. Default: the orb's name.",
      }),
    logo: z
      .string()
      .max(MAX_LOGO)
      .refine(isLogo, {
        error:
          "must be an https address or a base64 data: address of a PNG, JPEG, GIF, WebP, AVIF or SVG image",
        params: { code: "format" },
      })
      .optional()
      .meta({ description: "Image above the name.", example: "https://cdn.example/logo.svg" }),
    color: z
      .string()
      .regex(/^#[0-9a-fA-F]{6}$/, "must be a colour of the form #rrggbb")
      .optional()
      .meta({ description: "Colour of buttons and links.", example: "#0b6038" }),
  })
  .meta({ id: "OrbBranding", description: "Look of the orb's sign-in and account page." });

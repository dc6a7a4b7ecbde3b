import { stringifySearch } from "../url";

export const levels = ["L", "M", "Q", "H"] as const;
export const qrSizes = [256, 512, 1024, 2048] as const;

export interface QrOptions {
  /** As a colour field says it: #1a2b3c. */
  color: string;
  background: string;
  size: number;
  margin: number;
  level: (typeof levels)[number];
  /** A PNG as a data address, or empty. */
  logo: string;
}

export const defaultQr: QrOptions = {
  color: "#000000",
  background: "#ffffff",
  size: 1024,
  margin: 4,
  level: "M",
  logo: "",
};

/** Where our own API draws the code. */
export function qrAddress(id: string, options: QrOptions, format: "png" | "svg"): string {
  const { color, background, logo, ...rest } = options;
  return `/v1/links/${encodeURIComponent(id)}/qr${stringifySearch({
    format,
    ...rest,
    color: color.slice(1),
    background: background.slice(1),
    ...(logo && { logo }),
  })}`;
}

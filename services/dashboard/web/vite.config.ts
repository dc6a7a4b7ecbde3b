import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { thirdPartyLicences } from "./licences.ts";

// `npm run dev` forwards API calls to a running dashboard, so that the page under
// development has a real API. LINKSTREAM_DASHBOARD_URL says where it is.
const api = process.env.LINKSTREAM_DASHBOARD_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react(), tailwindcss(), thirdPartyLicences()],
  resolve: {
    // cmdk's own dialog is not used, see the file.
    alias: { "@radix-ui/react-dialog": fileURLToPath(new URL("src/shell/noDialog.ts", import.meta.url)) },
  },
  build: {
    // The content policy allows no data: addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: { "/v1": api, "/session": api, "/openapi.json": api, "/docs": api },
  },
  test: {
    environment: "happy-dom",
    include: ["*.test.ts", "src/**/*.test.{ts,tsx}"],
    env: { TZ: "Europe/Berlin" },
    restoreMocks: true,
    unstubGlobals: true,
  },
});

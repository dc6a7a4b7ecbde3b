// Replaces the plain list of operations by the whole reference. Without scripts, or
// when it fails, the list stays.
const list = document.getElementById("operations");
const place = document.getElementById("reference");
const font = "system-ui, sans-serif";
const mono = "ui-monospace, monospace";

// Light or dark as the dashboard was told to be, else as the system is.
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = (() => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // storage is switched off: nothing can have been chosen
  }
})();
const dark = chosen === "dark" || (chosen !== "light" && system.matches);
document.documentElement.dataset.theme = dark ? "dark" : "light";
if (chosen !== "light" && chosen !== "dark") {
  // Redoc writes its colours into the page once: another theme is another page.
  system.addEventListener("change", () => location.reload());
}

// Every pair of text and ground has a contrast of at least 4.5 to 1.
const colors = dark
  ? {
      primary: { main: "#a5b4fc", contrastText: "#0c0c0f" },
      success: { main: "#52d283", contrastText: "#0c0c0f" },
      warning: { main: "#f0b35c", contrastText: "#0c0c0f" },
      error: { main: "#fa8a85", contrastText: "#0c0c0f" },
      text: { primary: "#f4f4f5", secondary: "#a1a1aa" },
      border: { dark: "#2a2a30", light: "#2a2a30" },
      responses: {
        success: { color: "#52d283", backgroundColor: "#12261a", tabTextColor: "#52d283" },
        error: { color: "#fa8a85", backgroundColor: "#2d1716", tabTextColor: "#fa8a85" },
        redirect: { color: "#f0b35c", backgroundColor: "#2b2113", tabTextColor: "#f0b35c" },
        info: { color: "#a5b4fc", backgroundColor: "#1a2340", tabTextColor: "#a5b4fc" },
      },
    }
  : { primary: { main: "#4338ca" } };
const surfaces = dark
  ? {
      schema: { nestedBackground: "#1d1d22", linesColor: "#46444f", arrow: { color: "#a1a1aa" }, requireLabelColor: "#fa8a85", typeNameColor: "#a1a1aa", typeTitleColor: "#a1a1aa" },
      sidebar: { backgroundColor: "#0c0c0f", textColor: "#d4d4d8", activeTextColor: "#a5b4fc", arrow: { color: "#a1a1aa" } },
      rightPanel: { backgroundColor: "#1d1d22", textColor: "#f4f4f5", servers: { overlay: { backgroundColor: "#1d1d22", textColor: "#f4f4f5" }, url: { backgroundColor: "#0c0c0f" } } },
      codeBlock: { backgroundColor: "#0c0c0f" },
      fab: { backgroundColor: "#1d1d22", color: "#a5b4fc" },
    }
  : {};
const settings = {
  hideDownloadButton: false,
  pathInMiddlePanel: true,
  requiredPropsFirst: true,
  jsonSampleExpandLevel: 3,
  nativeScrollbars: true,
  theme: {
    colors,
    typography: {
      fontFamily: font,
      headings: { fontFamily: font },
      code: { fontFamily: mono, ...(dark && { color: "#f0b35c", backgroundColor: "#1d1d22" }) },
      ...(dark && { links: { color: "#a5b4fc", visited: "#a5b4fc", hover: "#c7d2fe" } }),
    },
    ...surfaces,
  },
};
if (window.Redoc) {
  document.body.classList.add("wide");
  window.Redoc.init("/openapi.json", settings, place, (error) => {
    if (error) {
      document.body.classList.remove("wide");
      place.remove();
      return;
    }
    list.remove();
  });
}

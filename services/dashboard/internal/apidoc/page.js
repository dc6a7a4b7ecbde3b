// Replaces the plain list of operations by the whole reference. Without scripts, or
// when it fails, the list stays.
const list = document.getElementById("operations");
const place = document.getElementById("reference");
const font = "system-ui, sans-serif";
const settings = {
  hideDownloadButton: false,
  pathInMiddlePanel: true,
  requiredPropsFirst: true,
  jsonSampleExpandLevel: 3,
  nativeScrollbars: true,
  theme: {
    colors: { primary: { main: "#4338ca" } },
    typography: { fontFamily: font, headings: { fontFamily: font }, code: { fontFamily: "ui-monospace, monospace" } },
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

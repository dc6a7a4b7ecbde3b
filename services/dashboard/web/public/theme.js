// Sets the colour theme before the first paint: the stored choice, else the system's.
// src/ui/theme.ts takes over once the app runs.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem("theme");
  } catch {
    // Storage may be switched off; the system's theme is right then.
  }
  if (choice !== "light" && choice !== "dark") {
    choice = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  document.documentElement.dataset.theme = choice;
})();

import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

// public/theme.js set the attribute before the first paint; this module changes it.

export function currentTheme(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

function apply(theme: Theme) {
  document.documentElement.dataset.theme = theme;
}

export function chooseTheme(theme: Theme) {
  apply(theme);
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // Storage is switched off: the choice lasts until the page is closed.
  }
}

/** Follows the system's theme for as long as nobody has chosen one. */
export function followSystemTheme() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    let chosen: string | null = null;
    try {
      chosen = localStorage.getItem("theme");
    } catch {
      // Nothing can have been chosen.
    }
    if (chosen === null) {
      apply(event.matches ? "dark" : "light");
    }
  });
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, currentTheme);
}

function subscribe(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

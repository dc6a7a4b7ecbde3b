import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";
export type ThemeChoice = Theme | "system";

// public/theme.js set the attribute before the first paint; this module changes it.

export function currentTheme(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function stored(): ThemeChoice {
  try {
    const choice = localStorage.getItem("theme");
    return choice === "light" || choice === "dark" ? choice : "system";
  } catch {
    return "system"; // Storage is switched off: nothing can have been chosen.
  }
}

function apply(theme: Theme) {
  document.documentElement.dataset.theme = theme;
}

export function chooseTheme(choice: ThemeChoice) {
  try {
    if (choice === "system") {
      localStorage.removeItem("theme");
    } else {
      localStorage.setItem("theme", choice);
    }
  } catch {
    // Storage is switched off: the choice lasts until the page is closed.
  }
  apply(choice === "system" ? systemTheme() : choice);
  dispatchEvent(new Event("themechoice"));
}

/** Follows the system's theme for as long as nobody has chosen one. */
export function followSystemTheme() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    if (stored() === "system") {
      apply(event.matches ? "dark" : "light");
    }
  });
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribeTheme, currentTheme);
}

/** What was chosen, which may be to follow the system. */
export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore(subscribeChoice, stored);
}

function subscribeTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

function subscribeChoice(changed: () => void): () => void {
  addEventListener("themechoice", changed);
  return () => removeEventListener("themechoice", changed);
}

import { Moon, Sun } from "lucide-react";
import { texts } from "../texts";
import { IconButton } from "./Button";
import { chooseTheme, useTheme } from "./theme";

export function ThemeToggle() {
  const dark = useTheme() === "dark";
  return (
    <IconButton
      label={dark ? texts.theme.toLight : texts.theme.toDark}
      onClick={() => chooseTheme(dark ? "light" : "dark")}
    >
      {dark ? <Sun size={18} aria-hidden /> : <Moon size={18} aria-hidden />}
    </IconButton>
  );
}

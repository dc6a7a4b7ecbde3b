import { ChevronDown } from "lucide-react";
import type { SelectHTMLAttributes } from "react";
import { inputClass } from "./Field";

interface Props extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "className" | "size"> {
  options: readonly { value: string; label: string }[];
  size?: "medium" | "small";
  /** As wide as what it says, not as the place it has. */
  fit?: boolean;
}

/** The browser's own select, which every keyboard and every phone knows. */
export function Select({ options, size = "medium", fit = false, ...rest }: Props) {
  return (
    <span className={`relative inline-flex min-w-0 ${fit ? "" : "w-full"}`}>
      <select
        className={`${inputClass} ${size === "small" ? "h-8 text-sm" : "h-9"} cursor-pointer appearance-none truncate border-line-strong pr-8`}
        {...rest}
      >
        {options.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <ChevronDown
        size={15}
        aria-hidden
        className="-translate-y-1/2 pointer-events-none absolute top-1/2 right-2.5 text-quiet"
      />
    </span>
  );
}

/** The letters of a country. Flags as characters are missing on half of the world's computers. */
export function CountryMark({ country }: { country: string }) {
  return (
    <span
      aria-hidden
      className="mr-2 inline-block w-6.5 rounded border border-line-strong bg-panel py-px text-center align-[0.08em] font-semibold text-[0.625rem] text-quiet leading-3.5"
    >
      {country || "–"}
    </span>
  );
}

// A field for a date and a time shows the wall clock of a zone; the API wants moments.

/** What a clock at the place shows, in the form that a field wants: 2026-11-30T09:00. */
export function wallClock(moment: string | null | undefined, zone: string): string {
  if (!moment) {
    return "";
  }
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(new Date(moment));
  const of = (type: string) => parts.find((p) => p.type === type)?.value ?? "";
  return `${of("year")}-${of("month")}-${of("day")}T${of("hour")}:${of("minute")}`;
}

/** The moment at which a clock at the place shows this. Of two, the earlier; of none, the next. */
export function momentOf(clock: string, zone: string): string | null {
  const wanted = Date.parse(`${clock}Z`);
  if (!clock || Number.isNaN(wanted)) {
    return null;
  }
  const offset = (at: number) => Date.parse(`${wallClock(new Date(at).toISOString(), zone)}Z`) - at;
  // The offset around the moment, before and after: a change of the clock may lie between.
  const [before, after] = [wanted - offset(wanted - 86_400_000), wanted - offset(wanted + 86_400_000)];
  const fits = [before, after].filter((at) => at + offset(at) === wanted);
  return new Date(fits.length > 0 ? Math.min(...fits) : before).toISOString();
}

const WIDTH = 88;
const HEIGHT = 26;

/** The course of the clicks, without numbers: those stand beside it. */
export function Sparkline({ values }: { values: readonly number[] }) {
  const most = Math.max(1, ...values);
  const step = values.length > 1 ? WIDTH / (values.length - 1) : WIDTH;
  const points = values.map(
    (v, i) => `${(i * step).toFixed(1)},${(HEIGHT - 2 - (v / most) * (HEIGHT - 4)).toFixed(1)}`,
  );
  const line = points.join(" ");
  const empty = values.every((v) => v === 0);
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
      className="block"
    >
      {!empty && values.length > 1 && (
        <polygon points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} className="fill-accent/12" />
      )}
      <polyline
        points={values.length > 1 ? line : `0,${HEIGHT - 2} ${WIDTH},${HEIGHT - 2}`}
        fill="none"
        strokeWidth="1.5"
        strokeLinejoin="round"
        strokeLinecap="round"
        className={empty ? "stroke-line-strong" : "stroke-accent"}
      />
    </svg>
  );
}

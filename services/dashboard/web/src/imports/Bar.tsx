/** How far something is, from 0 to 1. */
export function Bar({ label, share }: { label: string; share: number }) {
  return (
    <progress
      aria-label={label}
      max={1}
      value={share}
      className="block h-2 w-full appearance-none overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-action [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:rounded-full [&::-webkit-progress-value]:bg-action [&::-webkit-progress-value]:transition-[width]"
    />
  );
}

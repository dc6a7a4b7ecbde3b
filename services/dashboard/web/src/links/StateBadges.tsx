import { CalendarClock, CalendarX2, Gauge, Lock, type LucideIcon, Power, Route, Split } from "lucide-react";
import { exact } from "../format";
import { texts } from "../texts";
import { Badge, type Tone } from "../ui/Badge";
import { type Row, type State, statesOf } from "./row";

const looks: Record<State, { tone: Tone; icon?: LucideIcon }> = {
  disabled: { tone: "bad", icon: Power },
  archived: { tone: "plain" },
  expired: { tone: "bad", icon: CalendarX2 },
  scheduled: { tone: "warn", icon: CalendarClock },
  expires: { tone: "plain", icon: CalendarClock },
  password: { tone: "plain", icon: Lock },
  limited: { tone: "plain", icon: Gauge },
  rules: { tone: "plain", icon: Route },
  split: { tone: "plain", icon: Split },
};

/** What is special about a link, in a few words. */
export function StateBadges({ row, at = new Date() }: { row: Pick<Row, "link" | "archived">; at?: Date }) {
  return statesOf(row, at).map((state) => {
    const { tone, icon: Icon } = looks[state];
    return (
      <Badge key={state} tone={tone} title={titleOf(state, row)}>
        {Icon && <Icon size={12} aria-hidden />}
        {texts.states[state]}
      </Badge>
    );
  });
}

function titleOf(state: State, { link }: Pick<Row, "link">): string | undefined {
  if ((state === "expires" || state === "expired") && link?.expires_at) {
    return texts.states.expiresAt(exact(new Date(link.expires_at)));
  }
  if (state === "scheduled" && link?.starts_at) {
    return texts.states.startsAt(exact(new Date(link.starts_at)));
  }
  return undefined;
}

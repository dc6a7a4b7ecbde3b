import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { BookOpen, Keyboard, KeyRound, LogOut, Monitor, Moon, Sun } from "lucide-react";
import { logOut, sessionQuery } from "../api/session";
import { texts } from "../texts";
import { Menu } from "../ui/Menu";
import { chooseTheme, type Theme, useThemeChoice } from "../ui/theme";
import { useToast } from "../ui/toast";

const themes: { choice: Theme | "system"; icon: typeof Sun }[] = [
  { choice: "light", icon: Sun },
  { choice: "dark", icon: Moon },
  { choice: "system", icon: Monitor },
];

/** Who is logged in, the theme, help, and the way out. */
export function AccountMenu({ onHelp }: { onHelp: () => void }) {
  const { data: who } = useSuspenseQuery(sessionQuery);
  const router = useRouter();
  const client = useQueryClient();
  const toast = useToast();
  const chosen = useThemeChoice();
  const leave = useMutation({
    mutationFn: logOut,
    onSuccess: async () => {
      await router.navigate({ to: "/login", search: {} });
      client.clear();
    },
    onError: () => toast({ tone: "bad", text: texts.session.logOutFailed }),
  });
  return (
    <Menu
      label={texts.account.menu}
      trigger={(props) => (
        <button
          type="button"
          {...props}
          aria-label={texts.account.menu}
          title={who.email}
          className="grid size-8 shrink-0 place-content-center rounded-full bg-accent-soft font-semibold text-accent-text text-sm uppercase"
        >
          {who.email.charAt(0)}
        </button>
      )}
      header={
        <div className="mb-1 max-w-64 border-line border-b px-2.5 pt-1.5 pb-2.5">
          <p className="text-quiet text-xs">{texts.account.loggedInAs}</p>
          <p className="truncate font-medium">{who.email}</p>
        </div>
      }
      entries={[
        ...themes.map(({ choice, icon }) => ({
          label: texts.theme[choice],
          icon,
          checked: chosen === choice,
          onSelect: () => chooseTheme(choice),
        })),
        { label: texts.shortcuts.heading, icon: Keyboard, onSelect: onHelp, apart: true, detail: "?" },
        { label: texts.nav.apiDocs, icon: BookOpen, href: "/docs" },
        {
          label: texts.password.heading,
          icon: KeyRound,
          onSelect: () => router.navigate({ to: "/settings/password" }),
          apart: true,
        },
        { label: texts.session.logOut, icon: LogOut, onSelect: () => leave.mutate() },
      ]}
    />
  );
}

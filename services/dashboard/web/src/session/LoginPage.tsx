import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { Problem } from "../api/problem";
import { logIn as call, sessionQuery } from "../api/session";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Field } from "../ui/Field";
import { Footer } from "../ui/Footer";
import { Logo } from "../ui/Logo";
import { ErrorNotice } from "../ui/Notice";
import { safeNext } from "./next";

const route = getRouteApi("/login");

export function LoginPage() {
  const { next } = route.useSearch();
  const router = useRouter();
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");

  const logIn = useMutation({
    mutationFn: () => call(email, password),
    onSuccess: async (who) => {
      // Nothing that an earlier user saw may be shown to this one.
      client.clear();
      client.setQueryData(sessionQuery.queryKey, who);
      router.history.push(safeNext(next));
    },
    onError: () => setPassword(""),
  });
  const fields = logIn.error instanceof Problem ? logIn.error.byField() : {};

  const submit = (event: FormEvent) => {
    event.preventDefault();
    logIn.mutate();
  };

  return (
    <div className="grid min-h-dvh grid-rows-[auto_1fr_auto]">
      <div className="h-16" />
      <main className="mx-auto w-full max-w-104 px-4 pt-[10vh] pb-16">
        <Logo />
        <h1 className="mt-8 font-semibold text-2xl tracking-tight">{texts.session.heading}</h1>
        <p className="mt-1 text-quiet">{texts.session.lead}</p>
        <form onSubmit={submit} className="mt-8 space-y-5">
          <Field
            label={texts.session.email}
            type="email"
            name="email"
            autoComplete="username"
            required
            autoFocus
            value={email}
            error={fields.email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <Field
            label={texts.session.password}
            type="password"
            name="password"
            autoComplete="current-password"
            required
            value={password}
            error={fields.password}
            onChange={(event) => setPassword(event.target.value)}
          />
          {logIn.isError && <ErrorNotice error={logIn.error} />}
          <Button kind="primary" type="submit" size="large" disabled={logIn.isPending}>
            {logIn.isPending ? texts.session.loggingIn : texts.session.logIn}
          </Button>
        </form>
      </main>
      <Footer />
    </div>
  );
}

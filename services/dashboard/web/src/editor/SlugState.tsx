import { useQuery } from "@tanstack/react-query";
import { Check, CircleAlert } from "lucide-react";
import { useEffect, useState } from "react";
import { takenQuery } from "../api/links";
import type { Link } from "../api/types";
import { texts } from "../texts";

const TYPING_MS = 250;

interface Props {
  domain: string;
  slug: string;
  link: Link | undefined;
}

/** Whether the address is free, while one types. The API has the last word when it is saved. */
export function SlugState({ domain, slug, link }: Props) {
  const wanted = slug.trim();
  const [asked, setAsked] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(wanted), TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  const own = link !== undefined && link.slug === wanted && link.domain === domain;
  const taken = useQuery({
    ...takenQuery(domain, asked),
    enabled: asked !== "" && domain !== "" && !own,
    retry: false,
  });
  const t = texts.form;
  if (!wanted) {
    return <span>{t.slugHint}</span>;
  }
  if (own) {
    return <span>{link ? t.slugOwn : t.slugHint}</span>;
  }
  if (wanted !== asked || taken.isPending) {
    return <span>{t.slugChecking}</span>;
  }
  if (taken.data && taken.data.id !== link?.id) {
    return (
      <span data-slug="taken" className="flex items-center gap-1 text-down">
        <CircleAlert size={13} aria-hidden />
        {t.slugTaken(taken.data.title || taken.data.destination)}
      </span>
    );
  }
  return (
    <span data-slug="free" className="flex items-center gap-1 text-up">
      <Check size={13} aria-hidden />
      {t.slugFree}
    </span>
  );
}

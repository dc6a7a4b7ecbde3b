import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { linkQuery } from "../api/links";
import { Problem } from "../api/problem";
import { decoded, readable } from "../format";
import { LiveStrip } from "../live/LiveStrip";
import { useMoment } from "../live/useMoment";
import { Overview } from "../stats/Overview";
import { LinkContext } from "../stats/VariantName";
import { readView, writeView } from "../stats/view";
import { texts } from "../texts";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { PageHead } from "../ui/PageHead";
import { Delivery } from "./Delivery";
import { LinkActions } from "./LinkActions";
import { LinkSummary } from "./LinkSummary";

const route = getRouteApi("/inside/links/$id");

/** Everything about one link. */
export function LinkPage() {
  const { id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const link = useQuery(linkQuery(id));
  const live = useMoment({ link_id: id });
  if (link.isError && !link.data) {
    const gone = link.error instanceof Problem && link.error.status === 404;
    return (
      <>
        <Back />
        <PageHead heading={gone ? texts.links.gone : texts.links.heading} />
        <ErrorNotice error={link.error} {...(!gone && { onRetry: () => void link.refetch() })} />
      </>
    );
  }
  return (
    <>
      <Back />
      {link.data ? (
        <>
          <PageHead heading={readable(decoded(link.data.short_url))}>
            <LinkActions link={link.data} />
          </PageHead>
          <LinkSummary link={link.data} live={live} />
        </>
      ) : (
        <Skeleton className="mb-6 h-32" />
      )}
      <LinkContext value={link.data}>
        <Overview
          view={readView(search)}
          scope={{ link_id: id }}
          onChange={(view) => void navigate({ search: writeView(view), resetScroll: false })}
        />
      </LinkContext>
      <LiveStrip {...live} />
      <Delivery id={id} />
    </>
  );
}

function Back() {
  return (
    <Link to="/" className="mb-2 inline-flex items-center gap-1 rounded text-quiet hover:text-text">
      <ChevronLeft size={15} aria-hidden />
      {texts.links.heading}
    </Link>
  );
}

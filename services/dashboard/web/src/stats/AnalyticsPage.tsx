import { getRouteApi } from "@tanstack/react-router";
import { texts } from "../texts";
import { PageHead } from "../ui/PageHead";
import { Overview } from "./Overview";
import { readView, writeView } from "./view";

const route = getRouteApi("/inside/analytics");

/** All clicks of the workspace; with filters, those of a domain, a tag, a campaign. */
export function AnalyticsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHead heading={texts.nav.analytics} />
      <Overview
        view={readView(search)}
        scope={{}}
        onChange={(view) => void navigate({ search: writeView(view), resetScroll: false })}
      />
    </>
  );
}

import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { texts } from "../texts";
import { PageHead } from "../ui/PageHead";
import { Segmented } from "../ui/Segmented";
import { one } from "../url";
import { FileImport } from "./FileImport";
import { JobView } from "./JobView";
import { PasteImport } from "./PasteImport";
import { RecentImports } from "./RecentImports";
import { type Chosen, noFile } from "./useUpload";

const route = getRouteApi("/inside/import");

const ways = ["file", "paste"] as const;

/** Many links at once: from a file, as a job that goes on without the page, or pasted. */
export function ImportPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [chosen, setChosen] = useState<Chosen>(noFile);
  const job = one(search.job);
  const way = one(search.from) === "paste" ? "paste" : "file";
  const show = (id: string | undefined) => void navigate({ search: id ? { job: id } : {} });
  const t = texts.imports;
  return (
    <>
      <PageHead heading={texts.nav.import}>
        {!job && (
          <Segmented
            label={t.way}
            value={way}
            options={ways.map((value) => ({ value, label: t.ways[value] }))}
            onChange={(value) =>
              void navigate({ search: value === "paste" ? { from: value } : {}, replace: true })
            }
          />
        )}
      </PageHead>
      {job ? (
        <JobView key={job} id={job} chosen={chosen} onJob={show} />
      ) : way === "paste" ? (
        <PasteImport />
      ) : (
        <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1.4fr)_minmax(0,1fr)]">
          <FileImport chosen={chosen} onChosen={setChosen} onJob={show} />
          <RecentImports onJob={show} />
        </div>
      )}
    </>
  );
}

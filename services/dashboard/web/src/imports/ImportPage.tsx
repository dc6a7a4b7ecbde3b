import { useState } from "react";
import { texts } from "../texts";
import { PageHead } from "../ui/PageHead";
import { parseTable } from "./csv";
import { Preview } from "./Preview";
import { Progress } from "./Progress";
import { readTable } from "./rows";
import { Source } from "./Source";
import { useImport } from "./useImport";

/** Many links at once: paste or choose, look at what was understood, then make them. */
export function ImportPage() {
  const [text, setText] = useState("");
  const importing = useImport();
  const table = readTable(parseTable(text));
  if (importing.job.state !== "idle") {
    return (
      <>
        <PageHead heading={texts.nav.import} />
        <Progress
          job={importing.job}
          onStop={importing.stop}
          onAgain={() => {
            setText("");
            importing.reset();
          }}
        />
      </>
    );
  }
  return (
    <>
      <PageHead heading={texts.nav.import} />
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,1.5fr)]">
        <Source text={text} onText={setText} />
        <Preview table={table} onStart={importing.start} />
      </div>
    </>
  );
}

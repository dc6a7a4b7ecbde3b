import { useState } from "react";
import { parseTable } from "./csv";
import { Preview } from "./Preview";
import { Progress } from "./Progress";
import { readTable } from "./rows";
import { Source } from "./Source";
import { useImport } from "./useImport";

/** A few links by hand: paste, look at what was understood, then make them. */
export function PasteImport() {
  const [text, setText] = useState("");
  const importing = useImport();
  if (importing.job.state !== "idle") {
    return (
      <Progress
        job={importing.job}
        onStop={importing.stop}
        onAgain={() => {
          setText("");
          importing.reset();
        }}
      />
    );
  }
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,1.5fr)]">
      <Source text={text} onText={setText} />
      <Preview table={readTable(parseTable(text))} onStart={importing.start} />
    </div>
  );
}

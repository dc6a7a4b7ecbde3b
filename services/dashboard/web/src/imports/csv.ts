// Tables as people paste and export them: CSV (RFC 4180), semicolons, tabs, or one
// address a line.

const separators = [",", ";", "\t"] as const;

/** Cells of a text; quotes hold what separates. Empty lines are left out. */
export function parseTable(text: string): string[][] {
  const source = text.replace(/^\uFEFF/, "");
  const separator = separatorOf(source);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endCell = () => {
    row.push(cell);
    cell = "";
  };
  const endRow = () => {
    endCell();
    if (row.some((c) => c.trim() !== "")) {
      rows.push(row);
    }
    row = [];
  };
  for (let i = 0; i < source.length; i += 1) {
    const char = source[i];
    if (quoted) {
      if (char !== '"') {
        cell += char;
      } else if (source[i + 1] === '"') {
        cell += '"';
        i += 1;
      } else {
        quoted = false;
      }
    } else if (char === '"' && cell.trim() === "") {
      cell = "";
      quoted = true;
    } else if (char === separator) {
      endCell();
    } else if (char === "\n") {
      endRow();
    } else if (char !== "\r") {
      cell += char;
    }
  }
  endRow();
  return rows;
}

/** What separates the cells of the first line, or a comma. */
function separatorOf(text: string): string {
  const line = text.slice(0, text.search(/\r?\n|$/)).replace(/"[^"]*"/g, "");
  const counts = separators.map((s) => line.split(s).length);
  const most = Math.max(...counts);
  return most > 1 ? (separators[counts.indexOf(most)] ?? ",") : ",";
}

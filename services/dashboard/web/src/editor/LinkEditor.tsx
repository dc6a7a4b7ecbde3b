import { useQuery } from "@tanstack/react-query";
import { linkQuery } from "../api/links";
import { browserZone } from "../stats/period";
import { texts } from "../texts";
import { Dialog, DialogBody } from "../ui/Dialog";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { EditorForm } from "./EditorForm";
import { emptyForm, formOf } from "./form";

interface Props {
  id?: string;
  duplicate?: boolean;
  destination?: string;
  onClose: () => void;
}

/** The panel in which a link is made or changed. The default export is what React.lazy wants. */
export default function LinkEditor({ id, duplicate = false, destination = "", onClose }: Props) {
  const link = useQuery({ ...linkQuery(id ?? ""), enabled: id !== undefined });
  const zone = browserZone();
  const heading = id && !duplicate ? texts.form.editHeading : texts.form.heading;
  return (
    <Dialog heading={heading} onClose={onClose} as="side">
      {id === undefined && <EditorForm initial={emptyForm(zone, destination)} onClose={onClose} />}
      {link.data &&
        (duplicate ? (
          <EditorForm initial={{ ...formOf(link.data, zone), slug: "" }} onClose={onClose} />
        ) : (
          <EditorForm initial={formOf(link.data, zone)} link={link.data} onClose={onClose} />
        ))}
      {id !== undefined && !link.data && (
        <DialogBody>
          {link.isError ? (
            <ErrorNotice error={link.error} onRetry={() => void link.refetch()} />
          ) : (
            <Skeleton className="h-64" />
          )}
        </DialogBody>
      )}
    </Dialog>
  );
}

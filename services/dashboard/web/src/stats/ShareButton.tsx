import { Share2 } from "lucide-react";
import { texts } from "../texts";
import { IconButton } from "../ui/Button";
import { useToast } from "../ui/toast";
import { stringifySearch } from "../url";
import { sharedSearch, type View } from "./view";

/** Copies an address that opens the same view for somebody else, in the same zone. */
export function ShareButton({ view }: { view: View }) {
  const toast = useToast();
  const share = async () => {
    const address = location.origin + location.pathname + stringifySearch(sharedSearch(view));
    try {
      await navigator.clipboard.writeText(address);
      toast({ text: texts.overview.shared });
    } catch {
      toast({ tone: "bad", text: texts.links.copyFailed });
    }
  };
  return (
    <IconButton label={texts.overview.share} onClick={() => void share()}>
      <Share2 size={16} aria-hidden />
    </IconButton>
  );
}

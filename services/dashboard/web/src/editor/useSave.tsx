import { useMutation, useQueryClient } from "@tanstack/react-query";
import { createLink, editLink, linkQuery, linksKey } from "../api/links";
import { explain } from "../api/problem";
import type { Link } from "../api/types";
import { decoded, readable } from "../format";
import { texts } from "../texts";
import { CopyButton } from "../ui/CopyButton";
import { useToast } from "../ui/toast";
import { type Form, inverse, toEdit, toInput } from "./form";
import { LiveEverywhere } from "./LiveEverywhere";

/** Saves a form: a new link, or the changes of one, with a way back. */
export function useSave(link: Link | undefined, onSaved: () => void) {
  const client = useQueryClient();
  const toast = useToast();

  const settle = async (saved: Link) => {
    client.setQueryData(linkQuery(saved.id).queryKey, saved);
    await client.invalidateQueries({ queryKey: linksKey });
  };

  const takeBack = async (edit: ReturnType<typeof toEdit>, before: Link) => {
    try {
      await settle(await editLink(before.id, edit));
      toast({ text: texts.form.takenBack });
    } catch (error) {
      toast({ tone: "bad", text: explain(error) });
    }
  };

  return useMutation({
    mutationFn: async (form: Form) => {
      if (!link) {
        return { saved: await createLink(toInput(form)), edit: null };
      }
      const edit = toEdit(form, link);
      const nothing = Object.keys(edit).length === 0;
      return {
        saved: nothing ? link : await editLink(link.id, edit, link.version),
        edit: nothing ? null : edit,
      };
    },
    onSuccess: async ({ saved, edit }) => {
      onSaved();
      await settle(saved);
      if (!link) {
        toast({
          text: (
            <span className="flex items-center gap-2">
              {texts.links.created(readable(decoded(saved.short_url)))}
              <CopyButton url={saved.short_url} />
            </span>
          ),
        });
      } else if (edit) {
        const back = inverse(edit, link);
        toast({
          text: <LiveEverywhere id={saved.id} />,
          ...(back && { action: { label: texts.undo, run: () => void takeBack(back, link) } }),
        });
      }
    },
  });
}

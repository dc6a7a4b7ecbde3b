import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2, Users } from "lucide-react";
import { useState } from "react";
import { sessionQuery } from "../api/session";
import { addMember, membersQuery, removeMember } from "../api/settings";
import type { Member, MemberInput, NewMember } from "../api/types";
import { day } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button, IconButton } from "../ui/Button";
import { Field, Labelled } from "../ui/Field";
import { Section } from "../ui/Panel";
import { Select } from "../ui/Select";
import { Confirm } from "./Confirm";
import { FormDialog } from "./FormDialog";
import { SecretOnce } from "./SecretOnce";
import { SettingsList } from "./SettingsList";

type Role = MemberInput["role"];
const roles: Role[] = ["editor", "viewer", "owner"];

type Open =
  | { what: "new" }
  | { what: "remove"; member: Member }
  | { what: "secret"; member: NewMember }
  | null;

/** Who may use the workspace, and for what. */
export function MembersPage() {
  const [open, setOpen] = useState<Open>(null);
  const client = useQueryClient();
  const { data: who } = useQuery(sessionQuery);
  const refresh = () => void client.invalidateQueries({ queryKey: membersQuery.queryKey });
  const close = () => setOpen(null);
  const t = texts.members;
  return (
    <Section
      heading={texts.settings.members}
      lead={t.lead}
      actions={
        <Button kind="primary" onClick={() => setOpen({ what: "new" })}>
          <Plus size={16} aria-hidden />
          {t.add}
        </Button>
      }
    >
      <SettingsList
        query={useQuery(membersQuery)}
        empty={{ icon: Users, text: t.none, hint: t.lead }}
        keyOf={(member) => member.id}
        row={(member) => (
          <>
            <div className="min-w-0 grow">
              <p className="flex flex-wrap items-center gap-2">
                <span className="min-w-0 truncate font-medium">{member.email}</span>
                <Badge tone={member.role === "owner" ? "accent" : "plain"}>{t.roles[member.role]}</Badge>
                {member.email === who?.email && <span className="text-quiet text-xs">{t.you}</span>}
              </p>
              <p className="text-quiet text-xs">{t.since(day(new Date(member.created_at), new Date()))}</p>
            </div>
            {member.email !== who?.email && (
              <IconButton label={t.remove(member.email)} onClick={() => setOpen({ what: "remove", member })}>
                <Trash2 size={16} aria-hidden />
              </IconButton>
            )}
          </>
        )}
      />
      {open?.what === "new" && (
        <MemberForm
          onClose={close}
          onDone={(member) => {
            refresh();
            setOpen({ what: "secret", member });
          }}
        />
      )}
      {open?.what === "secret" && (
        <SecretOnce
          heading={t.secretHeading}
          text={t.secretText(open.member.email)}
          secret={open.member.password}
          onClose={close}
        />
      )}
      {open?.what === "remove" && (
        <Confirm
          heading={t.remove(open.member.email)}
          text={t.removeText}
          action={t.removeAction}
          run={() => removeMember(open.member.id)}
          onDone={refresh}
          onClose={close}
        />
      )}
    </Section>
  );
}

function MemberForm({ onClose, onDone }: { onClose: () => void; onDone: (member: NewMember) => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const t = texts.members;
  return (
    <FormDialog
      heading={t.add}
      action={t.add}
      run={() => addMember({ email: email.trim(), role })}
      onDone={onDone}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field
            label={texts.session.email}
            type="email"
            required
            autoComplete="off"
            error={errors.email}
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <Labelled label={t.role} hint={t.roleTexts[role]} {...(errors.role && { error: errors.role })}>
            {(control) => (
              <Select
                {...control}
                value={role}
                options={roles.map((value) => ({ value, label: t.roles[value] }))}
                onChange={(event) => setRole(event.target.value as Role)}
              />
            )}
          </Labelled>
        </>
      )}
    </FormDialog>
  );
}

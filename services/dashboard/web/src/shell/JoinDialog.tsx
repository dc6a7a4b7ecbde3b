import { useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { joinWorkspaces, sessionQuery } from "../api/session";
import { enterWorkspace } from "../session/workspace";
import { FormDialog } from "../settings/FormDialog";
import { texts } from "../texts";
import { Field } from "../ui/Field";

/** Makes one account of this one and of those that other workspaces made for the same person. */
export function JoinDialog({ onClose }: { onClose: () => void }) {
  const {
    data: { email },
  } = useSuspenseQuery(sessionQuery);
  const [password, setPassword] = useState("");
  const [fresh, setFresh] = useState("");
  const t = texts.workspaces;
  return (
    <FormDialog
      heading={t.join}
      action={t.joinAction}
      run={() => joinWorkspaces(password, fresh)}
      onDone={enterWorkspace}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <p className="text-quiet">{t.joinText(email)}</p>
          <Field
            label={t.handedOver}
            type="password"
            required
            autoComplete="off"
            error={errors.password}
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          <Field
            label={t.newPassword}
            hint={t.newPasswordHint}
            type="password"
            required
            minLength={8}
            autoComplete="new-password"
            error={errors.new_password}
            value={fresh}
            onChange={(event) => setFresh(event.target.value)}
          />
        </>
      )}
    </FormDialog>
  );
}

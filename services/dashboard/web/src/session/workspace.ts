import { useEffect, useRef } from "react";
import type { Who } from "../api/types";

// All tabs of a browser share one session, so a switch in one moves the others too. What
// a page holds is of one workspace: it is loaded anew, which drops caches, streams and
// forms all at once.

const CHANNEL = "linkstream-workspace";

/** Where a switch leads: nothing of the old workspace's addresses means anything there. */
const HOME = "/";

/** Opens the workspace that the session is in by now, here and in the other tabs. */
export function enterWorkspace(who: Who) {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(who.workspace_id);
  channel.close();
  location.assign(HOME);
}

/** Leaves a page whose session has gone to another workspace. */
export function useOneWorkspace(who: Who, leave: () => void = () => location.assign(HOME)) {
  const here = useRef(who.workspace_id);
  const go = useRef(leave);
  go.current = leave;
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = ({ data }) => data !== here.current && go.current();
    return () => channel.close();
  }, []);
  // A tab that did not hear of it is told when it asks who it is.
  useEffect(() => {
    if (who.workspace_id !== here.current) {
      go.current();
    }
  }, [who.workspace_id]);
}

/** The workspace that a session is in. */
export function currentWorkspace(who: Who) {
  return who.workspaces.find(({ id }) => id === who.workspace_id);
}

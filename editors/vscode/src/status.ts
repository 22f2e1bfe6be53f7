/** What the status item says of the states of the server. */

/** The states of a language client, by their numbers in vscode-languageclient. */
const STOPPED = 1;
const STARTING = 3;

export interface StateText {
  readonly text: string;
  readonly busy: boolean;
  readonly failed: boolean;
}

export function stateText(state: number): StateText {
  if (state === STARTING) {
    return { text: "torchlint: starting", busy: true, failed: false };
  }
  return { text: state === STOPPED ? "torchlint: stopped" : "torchlint", busy: false, failed: state === STOPPED };
}

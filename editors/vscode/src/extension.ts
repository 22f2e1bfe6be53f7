/** Starts the language server of torchlint, and offers its commands. */

import * as vscode from "vscode";
import { LanguageClient, State, Trace, type LanguageClientOptions } from "vscode-languageclient/node";

import { machine } from "./machine";
import { serverCommand, type Settings } from "./server";
import { stateText } from "./status";

const EXPLAIN_HOT = "torchlint.server.explainHot";
const FIX_ALL = "source.fixAll.torchlint";

class Extension implements vscode.Disposable {
  readonly output = vscode.window.createOutputChannel("torchlint");
  private readonly status = vscode.languages.createLanguageStatusItem("torchlint", { language: "python" });
  private client: LanguageClient | undefined;
  private turn: Promise<void> = Promise.resolve();

  constructor() {
    this.status.name = "torchlint";
    this.status.command = { command: "torchlint.showOutput", title: "Show Output" };
    this.show(State.Stopped);
  }

  /** Starts the server anew, one start after the other; a server that does not start is told once. */
  restart(): Promise<void> {
    this.turn = this.turn.then(() => this.startAgain());
    return this.turn;
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client?.needsStop()) {
      await client.dispose(); // a client that failed to start raises here
    }
    this.show(State.Stopped);
  }

  dispose(): void {
    this.status.dispose();
    this.output.dispose();
  }

  /** Applies what `--fix` would do to the file in the active editor. */
  async fixAll(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.languageId !== "python") {
      return;
    }
    const whole = new vscode.Range(0, 0, editor.document.lineCount, 0);
    const found = await vscode.commands.executeCommand<vscode.CodeAction[]>(
      "vscode.executeCodeActionProvider",
      editor.document.uri,
      whole,
      FIX_ALL,
      1,
    );
    const edit = found.find((action) => action.kind?.value === FIX_ALL)?.edit;
    if (edit && edit.size > 0) {
      await vscode.workspace.applyEdit(edit);
    } else {
      vscode.window.setStatusBarMessage("torchlint: nothing to fix", 3000);
    }
  }

  /** Shows why the line of the cursor runs as often as it does. */
  async explainHot(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !this.client?.isRunning()) {
      return;
    }
    const uri = this.client.code2ProtocolConverter.asUri(editor.document.uri);
    const params = { command: EXPLAIN_HOT, arguments: [uri, editor.selection.active.line] };
    const told = await this.client.sendRequest<string | null>("workspace/executeCommand", params);
    this.output.appendLine(told ?? "torchlint does not follow this document.");
    this.output.show(true);
  }

  private async startAgain(): Promise<void> {
    await this.stop();
    const settings = vscode.workspace.getConfiguration("torchlint");
    if (!settings.get<boolean>("enable", true)) {
      this.status.text = "torchlint: off";
      return;
    }
    const { command, args } = await serverCommand(read(settings), machine);
    this.output.appendLine(`> ${command} ${args.join(" ")}`);
    const options: LanguageClientOptions = {
      documentSelector: [
        { scheme: "file", language: "python" },
        { notebook: { scheme: "file", notebookType: "jupyter-notebook" }, language: "python" },
      ],
      outputChannel: this.output,
      traceOutputChannel: this.output,
      diagnosticCollectionName: "torchlint",
      initializationFailedHandler: () => false,
    };
    const client = new LanguageClient("torchlint", "torchlint", { command, args }, options);
    client.onDidChangeState(({ newState }) => this.show(newState));
    this.client = client;
    try {
      await client.start();
      await client.setTrace(Trace.fromString(settings.get<string>("trace.server", "off")));
    } catch (error) {
      this.status.severity = vscode.LanguageStatusSeverity.Error;
      this.status.text = "torchlint: not started";
      this.output.appendLine(String(error));
      const answer = await vscode.window.showErrorMessage(
        `torchlint does not start with "${command}". Install it with pip install 'torchlint[server]', or name its place in the settings.`,
        "Open Settings",
        "Show Output",
      );
      if (answer === "Open Settings") {
        await vscode.commands.executeCommand("workbench.action.openSettings", "torchlint");
      } else if (answer === "Show Output") {
        this.output.show();
      }
    }
  }

  private show(state: State): void {
    const { text, busy, failed } = stateText(state);
    this.status.text = text;
    this.status.busy = busy;
    this.status.severity = failed ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
  }
}

function read(settings: vscode.WorkspaceConfiguration): Settings {
  return {
    executable: settings.get<string>("executable", ""),
    interpreter: settings.get<string>("interpreter", ""),
    arguments: settings.get<string[]>("arguments", []),
  };
}

let extension: Extension | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const made = (extension = new Extension());
  context.subscriptions.push(
    made,
    vscode.commands.registerCommand("torchlint.restart", () => made.restart()),
    vscode.commands.registerCommand("torchlint.fixAll", () => made.fixAll()),
    vscode.commands.registerCommand("torchlint.explainHot", () => made.explainHot()),
    vscode.commands.registerCommand("torchlint.showOutput", () => made.output.show()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("torchlint")) {
        void made.restart();
      }
    }),
  );
  await made.restart();
}

export async function deactivate(): Promise<void> {
  await extension?.stop();
  extension = undefined;
}

/** The extension with its real language client and a real `torchlint server`; only the `vscode` module is replaced. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import * as vscode from "./vscode";
import { activate, deactivate } from "../src/extension";

const AGENT = `import torch


class Agent:
    def act(self, obs):
        x = torch.FloatTensor([obs])
        return self.policy(x)


def train(agent: Agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, *_ = env.step(agent.act(obs))
`;

const python = process.env.TORCHLINT_PYTHON ?? "python3";
let folder: string;
let document: vscode.TextDocument;

/** What a document is told, once it is told what is wanted. */
function told(uri: vscode.Uri, wanted: (found: vscode.Diagnostic[]) => boolean): Promise<vscode.Diagnostic[]> {
  return new Promise((resolve) => {
    const look = () => {
      const found = vscode.diagnostics.get(uri);
      if (vscode.diagnostics.has(uri) && wanted(found)) {
        listening.dispose();
        resolve(found);
      }
    };
    const listening = vscode.onPublished(look);
    look();
  });
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "torchlint of = "));
  writeFileSync(join(folder, "pyproject.toml"), '[tool.torchlint]\nselect = ["TL101"]\n');
  vscode.settings["torchlint.interpreter"] = python;
  await activate({ subscriptions: [] } as never);
  document = vscode.open(join(folder, "agent.py"), AGENT);
});

after(async () => {
  await deactivate();
  rmSync(folder, { recursive: true });
});

test("findings are diagnostics with the hot path", async () => {
  const [found] = await told(document.uri, (each) => each.length === 1);
  assert.equal((found!.code as { value?: string }).value ?? found!.code, "TL101");
  assert.equal(found!.range.start.line, 5);
  assert.match(found!.message, /once per environment step/);
  assert.equal(found!.relatedInformation?.length, 2);
});

test("the status item says that the server runs", () => {
  assert.equal(vscode.statuses[0]!.text, "torchlint");
});

test("a cursor on the line gets the quick fix", async () => {
  const at = new vscode.Position(5, 0);
  const actions: vscode.CodeAction[] = await vscode.commands.executeCommand(
    "vscode.executeCodeActionProvider",
    document.uri,
    new vscode.Range(at, at),
    undefined,
    undefined,
  );
  assert.deepEqual(
    actions.map((action) => action.title),
    ["Use torch.as_tensor (TL101)", "Ignore TL101 on this line", "torchlint: fix all safe"],
  );
});

test("the command says why the line of the cursor is hot", async () => {
  vscode.window.activeTextEditor!.selection.active = new vscode.Position(5, 8);
  await vscode.commands.executeCommand("torchlint.explainHot");
  assert.match(vscode.lines.join("\n"), /agent\.py:6 runs once per environment step/);
});

test("a change is linted, and the command fixes all that is safe", async () => {
  vscode.type(document, AGENT.replace("self.policy(x)", "self.policy(x), torch.FloatTensor([obs])"));
  await told(document.uri, (each) => each.length === 2);
  await vscode.commands.executeCommand("torchlint.fixAll");
  assert.doesNotMatch(document.getText(), /FloatTensor/);
  assert.match(document.getText(), /torch\.as_tensor\(\[obs\]/);
  await told(document.uri, (each) => each.length === 0);
});

test("the server starts again, and stops where the settings say so", async () => {
  await vscode.commands.executeCommand("torchlint.restart");
  vscode.type(document, AGENT);
  await told(document.uri, (each) => each.length === 1);
  vscode.configure("torchlint.enable", false);
  await vscode.commands.executeCommand("torchlint.restart");
  assert.equal(vscode.statuses[0]!.text, "torchlint: off");
});

test("a server that does not start is told in one message, and starts once the settings are right", async () => {
  vscode.settings["torchlint.executable"] = join(folder, "nothing here");
  vscode.settings["torchlint.enable"] = true;
  await vscode.commands.executeCommand("torchlint.restart");
  assert.equal(vscode.errors.filter((message) => message.includes("nothing here")).length, 1);
  assert.equal(vscode.statuses[0]!.text, "torchlint: not started");
  delete vscode.settings["torchlint.executable"];
  await vscode.commands.executeCommand("torchlint.restart");
  assert.equal(vscode.statuses[0]!.text, "torchlint");
});

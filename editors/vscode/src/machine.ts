/** The machine as VS Code shows it. */

import { execFile } from "node:child_process";

import * as vscode from "vscode";

import type { Machine } from "./server";

interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: { readonly path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

export const machine: Machine = {
  async selected() {
    const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
    if (!extension) {
      return undefined;
    }
    const api = extension.isActive ? extension.exports : await extension.activate();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const found = await api?.environments?.resolveEnvironment(api.environments.getActiveEnvironmentPath(folder));
    return found?.executable.uri?.fsPath;
  },

  hasTorchlint(python) {
    const question = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torchlint') is None)";
    return new Promise((resolve) => {
      // Isolated, so that no folder of the workspace stands for the package.
      execFile(python, ["-I", "-c", question], { timeout: 10_000 }, (error) => resolve(error === null));
    });
  },
};

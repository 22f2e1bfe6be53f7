/**
 * A stand-in for the `vscode` module, as far as the extension and its language client use it: documents, diagnostics,
 * code actions, configuration. What is not here is a class without members or a function that gives a disposable.
 */

import { pathToFileURL, fileURLToPath } from "node:url";

type Listener<T> = (event: T) => unknown;

export class Disposable {
  constructor(private readonly end: () => void = () => undefined) {}
  static from(...all: { dispose(): void }[]): Disposable {
    return new Disposable(() => all.forEach((each) => each.dispose()));
  }
  dispose(): void {
    this.end();
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>, self?: unknown, disposables?: Disposable[]): Disposable => {
    const bound: Listener<T> = (event) => listener.call(self, event);
    this.listeners.add(bound);
    const made = new Disposable(() => this.listeners.delete(bound));
    disposables?.push(made);
    return made;
  };
  fire(event: T): void {
    [...this.listeners].forEach((listener) => listener(event));
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(private readonly url: URL) {}
  static file(path: string): Uri {
    return new Uri(pathToFileURL(path));
  }
  static parse(text: string): Uri {
    return new Uri(new URL(text));
  }
  get scheme(): string {
    return this.url.protocol.slice(0, -1);
  }
  get fsPath(): string {
    return fileURLToPath(this.url);
  }
  get path(): string {
    return decodeURIComponent(this.url.pathname);
  }
  toString(): string {
    return this.url.toString();
  }
}

export class Position {
  constructor(readonly line: number, readonly character: number) {}
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(a: Position | number, b: Position | number, c?: number, d?: number) {
    this.start = a instanceof Position ? a : new Position(a, b as number);
    this.end = b instanceof Position ? b : new Position(c ?? 0, d ?? 0);
  }
}

export class Location {
  constructor(readonly uri: Uri, readonly range: Range) {}
}

export class Diagnostic {
  code?: unknown;
  source?: string;
  relatedInformation?: unknown[];
  constructor(public range: Range, public message: string, public severity?: number) {}
}

export class DiagnosticRelatedInformation {
  constructor(readonly location: Location, readonly message: string) {}
}

export class CodeActionKind {
  static readonly Empty = new CodeActionKind("");
  static readonly QuickFix = new CodeActionKind("quickfix");
  static readonly Refactor = new CodeActionKind("refactor");
  static readonly RefactorExtract = new CodeActionKind("refactor.extract");
  static readonly RefactorInline = new CodeActionKind("refactor.inline");
  static readonly RefactorMove = new CodeActionKind("refactor.move");
  static readonly RefactorRewrite = new CodeActionKind("refactor.rewrite");
  static readonly Source = new CodeActionKind("source");
  static readonly SourceFixAll = new CodeActionKind("source.fixAll");
  static readonly SourceOrganizeImports = new CodeActionKind("source.organizeImports");
  static readonly Notebook = new CodeActionKind("notebook");
  constructor(readonly value: string) {}
  append(part: string): CodeActionKind {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
}

export class CodeAction {
  edit?: WorkspaceEdit;
  command?: unknown;
  diagnostics?: Diagnostic[];
  constructor(public title: string, public kind?: CodeActionKind) {}
}

export class TextEdit {
  constructor(readonly range: Range, readonly newText: string) {}
}

export class WorkspaceEdit {
  readonly changes = new Map<string, TextEdit[]>();
  get size(): number {
    return this.changes.size;
  }
  set(uri: Uri, edits: (TextEdit | [TextEdit, unknown])[]): void {
    const plain = edits.map((edit) => (Array.isArray(edit) ? edit[0] : edit));
    this.changes.set(uri.toString(), [...(this.changes.get(uri.toString()) ?? []), ...plain]);
  }
  replace(uri: Uri, range: Range, text: string): void {
    this.set(uri, [new TextEdit(range, text)]);
  }
}

export class TextDocument {
  version = 1;
  readonly isClosed = false;
  readonly isUntitled = false;
  readonly languageId = "python";
  constructor(readonly uri: Uri, private text: string) {}
  get fileName(): string {
    return this.uri.fsPath;
  }
  get lineCount(): number {
    return this.text.split("\n").length;
  }
  getText(): string {
    return this.text;
  }
  become(text: string): void {
    this.text = text;
    this.version += 1;
  }
  offset(place: Position): number {
    const above = this.text.split("\n").slice(0, place.line);
    return above.reduce((sum, line) => sum + line.length + 1, 0) + place.character;
  }
}

class Diagnostics {
  readonly byUri = new Map<string, Diagnostic[]>();
  set(uri: Uri, found: Diagnostic[] | undefined): void {
    this.byUri.set(uri.toString(), found ?? []);
    published.fire(uri.toString());
  }
  delete(uri: Uri): void {
    this.byUri.delete(uri.toString());
  }
  has(uri: Uri): boolean {
    return this.byUri.has(uri.toString());
  }
  get(uri: Uri): Diagnostic[] {
    return this.byUri.get(uri.toString()) ?? [];
  }
  clear(): void {
    this.byUri.clear();
  }
  dispose(): void {
    this.clear();
  }
}

interface ActionProvider {
  provideCodeActions(document: TextDocument, range: Range, context: object, token: object): Promise<CodeAction[]>;
  resolveCodeAction?(action: CodeAction, token: object): Promise<CodeAction>;
}

const token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() };
const opened = new EventEmitter<TextDocument>();
const changed = new EventEmitter<{ document: TextDocument; contentChanges: object[]; reason?: number }>();
const configured = new EventEmitter<{ affectsConfiguration(section: string): boolean }>();
const published = new EventEmitter<string>();
const registered = new Map<string, (...args: unknown[]) => unknown>();
const providers: ActionProvider[] = [];
export const settings: Record<string, unknown> = {};
export const diagnostics = new Diagnostics();
export const lines: string[] = [];
export const errors: string[] = [];
export const statuses: { text: string; severity?: number; busy?: boolean }[] = [];
export const onPublished = published.event;

export function open(path: string, text: string): TextDocument {
  const document = new TextDocument(Uri.file(path), text);
  workspace.textDocuments.push(document);
  window.activeTextEditor = { document, selection: { active: new Position(0, 0) } };
  opened.fire(document);
  return document;
}

export function type(document: TextDocument, text: string): void {
  const whole = new Range(0, 0, document.lineCount, 0);
  const length = document.getText().length;
  document.become(text);
  changed.fire({ document, contentChanges: [{ range: whole, rangeOffset: 0, rangeLength: length, text }] });
}

export function configure(key: string, value: unknown): void {
  settings[key] = value;
  configured.fire({ affectsConfiguration: (section) => key.startsWith(section) });
}

const channel = {
  name: "torchlint",
  append: (text: string) => lines.push(text),
  appendLine: (text: string) => lines.push(text),
  replace() {},
  clear() {},
  show() {},
  hide() {},
  dispose() {},
};

const never = () => new Disposable();

function plain<T extends object>(known: T): T & Record<string, any> {
  return new Proxy(known as T & Record<string, any>, {
    get: (target, key) => (key in target ? target[key as string] : key === "then" ? undefined : never),
  });
}

export const window = plain({
  activeTextEditor: undefined as { document: TextDocument; selection: { active: Position } } | undefined,
  visibleTextEditors: [],
  tabGroups: plain({ all: [], activeTabGroup: {} }),
  createOutputChannel: () => channel,
  showErrorMessage: async (message: string) => void errors.push(message),
  setStatusBarMessage: never,
  withProgress: async (_: object, task: (progress: object, token: object) => unknown) => task({ report() {} }, token),
});

export const workspace = plain({
  textDocuments: [] as TextDocument[],
  notebookDocuments: [],
  workspaceFolders: undefined,
  onDidOpenTextDocument: opened.event,
  onDidChangeTextDocument: changed.event,
  onDidChangeConfiguration: configured.event,
  getConfiguration: (section = "") => ({
    get: (key: string, otherwise: unknown) => settings[section ? `${section}.${key}` : key] ?? otherwise,
  }),
  getWorkspaceFolder: () => undefined,
  createFileSystemWatcher: () => plain({}),
  async applyEdit(edit: WorkspaceEdit) {
    for (const [uri, edits] of edit.changes) {
      const document = workspace.textDocuments.find((each) => each.uri.toString() === uri);
      if (document) {
        let text = document.getText();
        const places = edits.map((each) => [document.offset(each.range.start), document.offset(each.range.end)]);
        edits
          .map((each, index) => ({ each, start: places[index]![0]!, end: places[index]![1]! }))
          .sort((a, b) => b.start - a.start)
          .forEach(({ each, start, end }) => (text = text.slice(0, start) + each.newText + text.slice(end)));
        type(document, text);
      }
    }
    return true;
  },
});

export const languages = plain({
  match: (selector: { language?: string }[]) => (selector.some((each) => each.language === "python") ? 10 : 0),
  createDiagnosticCollection: () => diagnostics,
  createLanguageStatusItem() {
    const status = { text: "", dispose() {} };
    statuses.push(status);
    return status;
  },
  registerCodeActionsProvider(_: object, provider: ActionProvider) {
    providers.push(provider);
    return new Disposable(() => providers.splice(providers.indexOf(provider), 1));
  },
});

export const commands = plain({
  registerCommand(name: string, run: (...args: unknown[]) => unknown) {
    registered.set(name, run);
    return new Disposable(() => registered.delete(name));
  },
  async executeCommand(name: string, ...args: any[]): Promise<any> {
    if (name !== "vscode.executeCodeActionProvider") {
      return registered.get(name)?.(...args);
    }
    const [uri, range, kind, resolved] = args as [Uri, Range, string | undefined, number | undefined];
    const document = workspace.textDocuments.find((each) => each.uri.toString() === uri.toString())!;
    const near = diagnostics.get(uri);
    const context = { diagnostics: near, only: kind ? new CodeActionKind(kind) : undefined, triggerKind: 1 };
    const found = await Promise.all(providers.map((each) => each.provideCodeActions(document, range, context, token)));
    const actions = found.flat();
    const resolve = providers[0]?.resolveCodeAction?.bind(providers[0]);
    return resolved && resolve ? Promise.all(actions.map((action) => resolve(action, token))) : actions;
  },
});

export const extensions = { getExtension: () => undefined, all: [] };
export const env = { appName: "test", language: "en", machineId: "", uriScheme: "vscode" };
export const version = "1.91.0";
export const l10n = { t: (text: string) => text };
export class CancellationTokenSource {
  readonly token = token;
  cancel(): void {}
  dispose(): void {}
}
export class CancellationError extends Error {}
export const LanguageStatusSeverity = { Information: 0, Warning: 1, Error: 2 };
export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export const CodeActionTriggerKind = { Invoke: 1, Automatic: 2 };

// What the language client derives from, or reads numbers of, for features that this server does not have.
class Nothing {}
export {
  Nothing as CallHierarchyIncomingCall,
  Nothing as CallHierarchyItem,
  Nothing as CallHierarchyOutgoingCall,
  Nothing as CodeLens,
  Nothing as Color,
  Nothing as ColorInformation,
  Nothing as ColorPresentation,
  Nothing as CompletionItem,
  Nothing as CompletionList,
  Nothing as DocumentHighlight,
  Nothing as DocumentLink,
  Nothing as DocumentSymbol,
  Nothing as FoldingRange,
  Nothing as Hover,
  Nothing as InlayHint,
  Nothing as MarkdownString,
  Nothing as RelativePattern,
  Nothing as SelectionRange,
  Nothing as SemanticTokens,
  Nothing as SnippetString,
  Nothing as SymbolInformation,
  Nothing as TabInputCustom,
  Nothing as TabInputText,
  Nothing as TabInputTextDiff,
  Nothing as TypeHierarchyItem,
};
const numbers: Record<string, number> = {};
export {
  numbers as CompletionItemKind,
  numbers as CompletionItemTag,
  numbers as CompletionTriggerKind,
  numbers as DiagnosticTag,
  numbers as DocumentHighlightKind,
  numbers as FileType,
  numbers as FoldingRangeKind,
  numbers as NotebookCellKind,
  numbers as ProgressLocation,
  numbers as SignatureHelpTriggerKind,
  numbers as SymbolKind,
  numbers as SymbolTag,
  numbers as TextDocumentSaveReason,
};

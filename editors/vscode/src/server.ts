/** Which program is the language server: what the settings say, else what is found. */

export interface Settings {
  readonly executable: string;
  readonly interpreter: string;
  readonly arguments: readonly string[];
}

export interface Command {
  readonly command: string;
  readonly args: string[];
}

/** What the choice needs to know of the machine. */
export interface Machine {
  /** The Python that the Python extension has selected for the window, if there is one. */
  readonly selected: () => Promise<string | undefined>;
  /** Whether a Python has torchlint. */
  readonly hasTorchlint: (python: string) => Promise<boolean>;
}

/** The command that starts the server: the executable, else the interpreter, else the selected one, else the path. */
export async function serverCommand(settings: Settings, machine: Machine): Promise<Command> {
  const rest = ["server", ...settings.arguments];
  if (settings.executable) {
    return { command: settings.executable, args: rest };
  }
  if (settings.interpreter) {
    return { command: settings.interpreter, args: ["-m", "torchlint", ...rest] };
  }
  const selected = await machine.selected();
  if (selected && (await machine.hasTorchlint(selected))) {
    return { command: selected, args: ["-m", "torchlint", ...rest] };
  }
  return { command: "torchlint", args: rest };
}

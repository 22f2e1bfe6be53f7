import assert from "node:assert/strict";
import { test } from "node:test";

import { serverCommand } from "../src/server";
import { stateText } from "../src/status";

const none = { executable: "", interpreter: "", arguments: [] };

function machine(selected: string | undefined, has: readonly string[]) {
  return { selected: async () => selected, hasTorchlint: async (python: string) => has.includes(python) };
}

test("the executable of the settings comes first", async () => {
  const settings = { executable: "/a/torchlint", interpreter: "/b/python", arguments: ["--log"] };
  const found = await serverCommand(settings, machine("/c/python", ["/c/python"]));
  assert.deepEqual(found, { command: "/a/torchlint", args: ["server", "--log"] });
});

test("the interpreter of the settings comes before the selected one", async () => {
  const found = await serverCommand({ ...none, interpreter: "/b/python" }, machine("/c/python", ["/c/python"]));
  assert.deepEqual(found, { command: "/b/python", args: ["-m", "torchlint", "server"] });
});

test("the selected interpreter is taken if it has torchlint", async () => {
  const found = await serverCommand(none, machine("/c/python", ["/c/python"]));
  assert.deepEqual(found, { command: "/c/python", args: ["-m", "torchlint", "server"] });
});

for (const selected of [undefined, "/c/python"]) {
  test(`torchlint on the search path comes last (${selected})`, async () => {
    assert.deepEqual(await serverCommand(none, machine(selected, [])), { command: "torchlint", args: ["server"] });
  });
}

test("the status says what the server does", () => {
  assert.deepEqual(stateText(1), { text: "torchlint: stopped", busy: false, failed: true });
  assert.deepEqual(stateText(2), { text: "torchlint", busy: false, failed: false });
  assert.deepEqual(stateText(3), { text: "torchlint: starting", busy: true, failed: false });
});

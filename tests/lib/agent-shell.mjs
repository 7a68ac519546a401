// SPDX-License-Identifier: Apache-2.0
// A command as the shell tool of an agent runs it: by the stub agent of a session.

// What it prints, and how it ended: {code, text}.
export async function runCommand(c, sessionId, command) {
  const from = c.updates.length;

  await c.prompt(sessionId, `run ${command.replaceAll(';', '\\;')}`);
  const [, code, text] = /^run:(-?\d+):([^]*)$/.exec(c.chunks(sessionId, from).join(''));
  return { code: Number(code), text: text.trim() };
}

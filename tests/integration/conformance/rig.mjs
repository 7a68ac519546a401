// SPDX-License-Identifier: Apache-2.0
// What the conformance files share: one daemon per file with a few stub harnesses, and short assertions.
//
//   const rig = serve();                   // before: start; after: stop, and nothing broke the protocol
//   test('31 …', async () => {
//     const { c, sessionId } = await rig.session();

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { assertNoViolations } from '../../lib/acp.mjs';
import { OP } from '../../lib/rawws.mjs';

// A stub that can do everything a harness may advertise.
export const FULL = {
  id: 'full',
  args: ['--image', '--audio', '--embedded', '--mcp-http', '--mcp-sse', '--additional-dirs', '--resume', '--usage'],
  capabilities: {
    loadSession: true,
    promptCapabilities: { image: true, audio: true, embeddedContext: true },
    mcpCapabilities: { http: true, sse: true },
    sessionCapabilities: { resume: {}, additionalDirectories: {} },
  },
};

export const EARLY = { id: 'early', args: ['--early-update'] };

class Rig {
  clients = [];

  // An initialized client; opts as of Daemon.client. It is closed at the end of the file.
  async client(opts) {
    const c = await this.d.client(opts);

    this.clients.push(c);
    return c;
  }

  // Connected, but not initialized.
  async connect(opts) {
    const c = await this.d.connect(opts);

    this.clients.push(c);
    return c;
  }

  // A client with one session on it: {c, sessionId, opened}.
  async session({ meta, cwd, mcpServers, ...opts } = {}) {
    const c = await this.client(opts);
    const opened = await c.newSession({ meta, cwd, mcpServers });

    return { c, sessionId: opened.sessionId, opened };
  }
}

export function serve({ harnesses = [], ...opts } = {}) {
  const rig = new Rig();

  before(async () => {
    rig.d = await Daemon.start({ harnesses: [FULL, EARLY, ...harnesses], ...opts });
  });
  after(async () => {
    await Promise.all(rig.clients.map((c) => c.close().catch(() => c.ws.destroy())));
    await rig.d?.stop();
    assertNoViolations();
  });
  return rig;
}

// An error answer: code, data.reason, and what else data must hold.
export function isError(e, code, reason, data = {}) {
  assert.equal(e.code, code, `${e.message}`);
  assert.equal(e.data?.reason, reason, `${e.message}`);
  for (const [key, value] of Object.entries(data))
    assert.deepEqual(e.data[key], value, `data.${key} of ${e.message}`);
}

export const answersSince = (c, from) => c.messages.slice(from).filter((m) => m.method === undefined);

// What `act` sends must have no answer. A request behind it proves that the daemon has read it all.
export async function silent(c, act) {
  const from = c.messages.length;

  await act();
  await c.call('session/list', {});
  const answers = answersSince(c, from);
  assert.equal(answers.length, 1, `unexpected answers: ${JSON.stringify(answers)}`);
}

// `raw` must have exactly one answer, with that id, and the connection must go on. Returns the answer.
export async function oneAnswer(c, raw, id = null) {
  const from = c.messages.length;

  if (id === null)
    c.ws.text(raw);
  else
    c.request('?', {}, { id, raw });
  const answer = await c.waitFor((m) => m.id === id && m.method === undefined, { from, what: `answer to ${raw}` });
  await c.call('session/list', {});
  assert.equal(answersSince(c, from).length, 2, `one answer to ${raw}`);
  return answer;
}

// The code of the close frame. (When the connection below ends is another matter.)
export async function closeCode(c, timeout = 10000) {
  if (c.ws.closeCode === undefined)
    await Promise.race([c.ws.waitFrame((f) => f.opcode === OP.close, { timeout }), c.ws.closed]);
  return c.ws.closeCode;
}

export const text = (content) => [{ type: 'text', text: content }];

// The kinds of the updates of a session, for comparisons of order.
export const kinds = (updates) => updates.map((u) => u.update.sessionUpdate);

// The chunk texts of a turn that just ended, joined.
export async function say(c, sessionId, prompt, opts) {
  const from = c.updates.length;
  const result = await c.prompt(sessionId, prompt, opts);

  return { ...result, text: c.chunks(sessionId, from).join('') };
}

// Index of a message in what the client received.
export const at = (c, pred, from = 0) => {
  const i = c.messages.slice(from).findIndex(pred);

  return i < 0 ? -1 : i + from;
};

export const isUpdate = (m, sessionId, kind) => m.method === 'session/update' &&
  m.params.sessionId === sessionId && (!kind || m.params.update.sessionUpdate === kind);

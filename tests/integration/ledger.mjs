// SPDX-License-Identifier: Apache-2.0
// Reads the usage ledger of a daemon as the bytes they are, and what tests of turns share.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { STUB } from '../lib/daemon.mjs';
import { wholeLines } from '../lib/vanishing.mjs';

export const fileOf = (d) => path.join(d.stateDir, 'usage.jsonl');
export const journalOf = (d, sessionId) => path.join(d.stateDir, 'sessions', `${sessionId}.jsonl`);
export const homeOf = (d, sessionId) => path.join(d.stateDir, 'homes', sessionId);

// A stub whose memory lies in its private home, as that of the real harnesses does.
export const homely = (id = 'homely', args = []) => ({ id, command: '/usr/bin/env', args: [STUB, ...args] });

export const records = (d) => wholeLines(fileOf(d)).map((line) => JSON.parse(line));

export const turnsOf = (d, sessionId) => records(d).filter((r) => r.type === 'turn' && r.sessionId === sessionId);

// Every line: whole, the head in its order, n from 1, the chain by incarnation, turns unique.
export function verify(d) {
  const text = fs.readFileSync(fileOf(d), 'utf8');
  const lines = text.split('\n');
  const turns = new Set();
  let before;

  assert.equal(lines.pop(), '', 'ends in a whole line');
  lines.forEach((line, i) => {
    const r = JSON.parse(line);
    const digest = before?.incarnation === r.incarnation
      ? crypto.createHash('sha256').update(lines[i - 1]).digest('hex') : null;

    assert.deepEqual(Object.keys(r).slice(0, 4), ['v', 'n', 'incarnation', 'prevDigest']);
    assert.equal(r.v, 1);
    assert.equal(r.n, i + 1);
    assert.equal(r.prevDigest, digest, `chain at record ${r.n}`);
    if (r.type === 'turn') {
      const id = `${r.incarnation} ${r.sessionId} ${r.turn}`;

      assert.ok(!turns.has(id), `turn ${id} twice`);
      turns.add(id);
    }
    before = r;
  });
  return lines.length;
}

// The error message of a prompt that must fail.
export async function failing(c, sessionId, text, meta) {
  const msg = await c.startPrompt(sessionId, text, { meta }).answer;

  assert.ok(msg.error, `should have failed: ${JSON.stringify(msg.result)}`);
  return msg.error;
}

// Starts a prompt and waits until the harness says the text of its first step, "echo TEXT".
export async function running(c, sessionId, text, rest, meta) {
  const from = c.updates.length;
  const started = c.startPrompt(sessionId, `echo ${text}; ${rest}`, { meta });

  await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === text, { from });
  return started;
}

// SPDX-License-Identifier: Apache-2.0
// A disk that is full for a while: no client is told what the journal does not have, new sessions are refused, and when
// there is room again the same session goes on, its history whole.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { onSmallDisk } from '../../lib/disk.mjs';
import { wholeLines } from '../../lib/vanishing.mjs';
import { Tape, failing } from './rig.mjs';

test('a full disk: nothing is sent that is not in the journal, NO_SPACE for new sessions, and all goes on when it empties', async (t) => {
  const { d, fill, empty } = await onSmallDisk(t, '2m');

  if (!d)
    return;
  const c = await d.client({ record: false });
  const tape = await Tape.open(c);
  const id = tape.sessionId;
  const journal = () => wholeLines(path.join(d.stateDir, 'sessions', `${id}.jsonl`)).map((line) => JSON.parse(line).n).filter((n) => n > 0);

  await c.prompt(id, 'echo before');
  fill(1200000);
  const { error } = await failing(c, id, 'flood 20000 200; echo end');
  assert.equal(error.data.turn.class, 'resource');
  assert.ok(journal().at(-1) >= tape.last, `journal up to ${journal().at(-1)}, sent up to ${tape.last}`);
  fill();
  const refused = await c.fails('session/new', { cwd: d.workDir, mcpServers: [] });
  assert.deepEqual([refused.code, refused.data.reason], [-32603, 'NO_SPACE']);
  assert.deepEqual(fs.readdirSync(path.join(d.stateDir, 'homes')), [id], 'no home is left of it');
  assert.equal((await failing(c, id, 'echo no')).error.data.turn.class, 'resource');
  assert.ok(journal().at(-1) >= tape.last);

  empty();
  assert.equal((await c.prompt(id, 'echo again')).stopReason, 'end_turn', 'the very next prompt finds the room');
  await c.newSession();
  assert.deepEqual(journal(), Array.from({ length: journal().length }, (_, i) => i + 1), '1..N without holes');
  await d.kill9();
  await d.restart();
  const reader = await d.client({ record: false });
  const whole = new Tape(id);
  whole.attach(reader);
  await reader.load(id);
  assert.deepEqual([whole.faults, whole.missing, whole.gaps], [[], [], []]);
  assert.ok(whole.last >= tape.last);
  const open = new Set();
  for (const end of whole.ends) {
    assert.ok(!open.has(end.turn), 'each turn ends once');
    open.add(end.turn);
  }
  await reader.close();
  await d.stop({ logs: false });
});

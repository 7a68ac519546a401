// SPDX-License-Identifier: Apache-2.0
// One session takes all it can get of one thing: the daemon answers and another session's turns complete meanwhile, the session itself goes
// on, and nothing of it is left once it is deleted.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { endInOrder } from '../../lib/daemon.mjs';
import { HOGS } from '../../lib/hogs.mjs';
import { neighbour, said } from '../../lib/neighbour.mjs';
import * as procs from '../../lib/procs.mjs';
import { freed, freeUids, startWithUids, tell, uidOf } from '../../lib/users.mjs';
import { until } from '../../lib/wait.mjs';
import { homely, homeOf } from '../ledger.mjs';

const skip = process.getuid() !== 0 && 'not root';
let d, c, other, uids;

before(async () => {
  if (skip)
    return;
  d = await startWithUids({ roomy: true, harnesses: [homely()], flags: { defaultHarness: 'homely' } });
  c = await d.client();
  other = (await c.newSession()).sessionId;
  uids = await freeUids(d);
});
after(() => endInOrder(d, c));

const groups = (id) => fs.readFileSync(path.join(d.stateDir, 'owner'), 'utf8').split('\n').filter((line) => line.startsWith('/'))
  .map((tree) => path.join(tree, `${id}.all`)).filter((dir) => fs.existsSync(dir));

for (const [what, { limits, run }] of Object.entries(HOGS))
  test(what, { skip }, async () => {
    const { sessionId: id, ...answer } = await c.newSession({ meta: { limits, mcp: { builtin: true } } });
    const uid = uidOf(answer);
    const tmp = await tell(c, id, 'echo "$TMPDIR"');
    const times = { turn: [], health: [] };

    assert.ok(fs.existsSync(tmp) && fs.existsSync(homeOf(d, id)) && groups(id).length > 0);
    await neighbour(d, c, other, run(d, c, id), times);
    assert.ok(times.turn.length >= 2, `${times.turn.length} turns beside it`);
    assert.equal(await said(c, id, 'echo on'), 'on', 'the session goes on');
    await neighbour(d, c, other, c.call('session/delete', { sessionId: id }));
    await until(() => !fs.existsSync(tmp) && !fs.existsSync(homeOf(d, id)), 'its files are gone', 30000);
    await freed(d, uids);
    assert.deepEqual(groups(id), []);
    assert.deepEqual(procs.list().filter((p) => procs.owner(p.pid) === uid), [], 'no process is left');
  });

// SPDX-License-Identifier: Apache-2.0
// A front end that does not read: it is given up as any client is, and the turn goes on without it.

import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { end, headers, input, parsed, run, said, user, where } from '../../lib/agui.mjs';
import { until } from '../../lib/wait.mjs';

test('a reader that takes nothing is told READER_TOO_SLOW when it reads again; the next run has the turn', async (t) => {
  const d = await Daemon.startFor(t, { flags: { backlogMax: 65536 } });
  const first = user('flood 40000 1000; echo over');
  const res = await new Promise((done) => {
    const req = http.request(where(d), { method: 'POST', headers: { ...headers(d), 'Content-Type': 'application/json' } }, (r) => done(r.pause()));

    req.end(JSON.stringify(input('slow', [first])));
  });

  await until(() => d.stderr.includes('client left'), 'it is given up', 30000);
  let text = '';
  for await (const piece of res)
    text += piece;
  const all = text.split('\n\n').filter(Boolean).map((line) => parsed(JSON.parse(line.slice(6))));

  assert.equal(end(all).code, 'READER_TOO_SLOW');
  await until(async () => end(await run(d, input('slow', [first]))).type === 'RUN_FINISHED', 'the turn ends', 60000);
  assert.equal(said(await run(d, input('slow', [first, user('echo next')]))), 'next');
});

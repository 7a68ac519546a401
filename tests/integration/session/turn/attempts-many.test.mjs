// SPDX-License-Identifier: Apache-2.0
// build: release
// Attempts without end: what the daemon keeps of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Daemon } from '../../../lib/daemon.mjs';
import { until } from '../../../lib/wait.mjs';
import { opened } from './rig.mjs';

test('100 prompts with two attempts each leave nothing in the daemon', async (t) => {
  const own = await Daemon.startFor(t);
  const a = await own.client();
  const s = await opened(own, a, { checks: [{ id: 'twice', kind: 'command', command: 'if test -f odd; then rm odd; else touch odd; exit 1; fi' }], retry: { max: 2 } });
  const counts = () => [own.fdCount(), own.descendants().length];

  for (let i = 0; i < 10; i++)
    await a.prompt(s.sessionId, 'echo broken');
  const before = counts(), memory = own.rss();

  for (let i = 0; i < 100; i++)
    assert.deepEqual((await a.prompt(s.sessionId, 'echo broken'))._meta.acpd.attempt, { n: 2, of: 3, first: 21 + 2 * i });
  await until(() => counts().every((n, i) => n <= before[i]), () => `descriptors and children: ${before} before, now ${counts()}`);
  assert.ok(own.rss() - memory < 8 << 20, `${own.rss() - memory} bytes more`);
  await a.close();
  await own.stop();
});

// SPDX-License-Identifier: Apache-2.0
// What others notice of a session that takes all it can get of one thing (tests/lib/hogs.mjs): /health, and the turn of another session,
// beside the same without a hog.

import { homely } from '../integration/ledger.mjs';
import { HOGS } from '../lib/hogs.mjs';
import { neighbour } from '../lib/neighbour.mjs';
import { startWithUids } from '../lib/users.mjs';
import { sleep } from './rig.mjs';

const at = (list, share) => list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];

// Turns with a hog and without, in turn, so that both see the same weather.
async function compare(d, c, other, n, { limits, run }) {
  const times = { hog: { turn: [], health: [] }, none: { turn: [], health: [] } };
  const until = performance.now() + n.ms;

  do {
    const { sessionId } = await c.newSession({ meta: { limits, mcp: { builtin: true } } });
    const begun = performance.now();

    await neighbour(d, c, other, run(d, c, sessionId), times.hog);
    const took = performance.now() - begun;
    await c.call('session/delete', { sessionId });
    await neighbour(d, c, other, sleep(took), times.none);
  } while (performance.now() < until);
  return times;
}

export async function hogs(table, n) {
  if (process.getuid() !== 0) {
    console.log('hogs are left out: only root can hold them in groups');
    return;
  }
  const d = await startWithUids({ harnesses: [homely()], flags: { defaultHarness: 'homely', log: 'warn' }, roomy: true });
  const c = await d.client();
  const { sessionId: other } = await c.newSession();

  table.section('a session that takes all it can get: what others notice');
  for (const [what, hog] of Object.entries(HOGS)) {
    const { hog: beside, none } = await compare(d, c, other, n, hog);

    for (const [of, name] of [['health', '/health'], ['turn', 'a turn of another session']])
      for (const [label, share] of [['p50', 0.5], ['p99', 0.99]])
        table.add({
          what: `${what}: ${name} ${label}`, unit: 'ms', value: at(beside[of], share),
          refs: [{ name: 'without', value: at(none[of], share) }], note: `of ${beside[of].length}`,
        });
  }
  await c.close();
  await d.stop();
}

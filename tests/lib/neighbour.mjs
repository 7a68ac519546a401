// SPDX-License-Identifier: Apache-2.0
// How those fare who have nothing to do with what a session does.

import assert from 'node:assert/strict';

export async function said(c, id, prompt) {
  const from = c.updates.length;

  await c.prompt(id, prompt);
  return c.chunks(id, from).join('');
}

// A turn of another session, and /health, again and again until the work of the first session is over. times (optional) takes how long
// each of them took: more than one of each means that they did not wait for the end of the work.
export async function neighbour(d, c, other, work, times = { turn: [], health: [] }) {
  const done = work.then(() => true, () => true);
  let rounds = 0;

  do {
    const begun = performance.now();
    assert.equal(await said(c, other, `echo round ${rounds}`), `round ${rounds++}`);
    const turned = performance.now();
    assert.equal((await d.http('/health')).status, 200);
    const end = performance.now();
    times.turn.push(turned - begun);
    times.health.push(end - turned);
  } while (!await Promise.race([done, new Promise((r) => setTimeout(r, 20, false))]));
  return work;
}

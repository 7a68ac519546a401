// SPDX-License-Identifier: Apache-2.0
// Who reaches the listener of a session: with --agent-user only its user does, whatever key another one has. Root only.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { connectTaker, listenerOf, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';

const [AGENT, OTHER] = [65534, 1]; // nobody, daemon
const skip = process.getuid() !== 0 && 'needs root';

// The status of a call that a process of that user makes.
async function statusOf(uid, { url, key }) {
  const p = spawn('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', `Authorization: Bearer ${key}`, `${url}/models`],
    { uid, gid: uid, cwd: '/', env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';

  p.stdout.on('data', (data) => { text += data; });
  await once(p, 'close');
  return Number(text);
}

describe('with --agent-user', { skip }, () => {
  test('another user with the right key is refused and counted; the session\'s own is not', async (t) => {
    const d = await Daemon.startFor(t, { flags: { agentUser: 'nobody' }, harnesses: [STUB_WITH_PROVIDER] });
    const taker = await connectTaker(d);
    const { sessionId, _meta } = await taker.newSession();
    const where = listenerOf(sessionId);

    assert.deepEqual(_meta.acpd.provider, { via: 'tunnel', keyExposed: false, callerChecked: true });
    for (const uid of [OTHER, 0]) {
      assert.equal(await statusOf(uid, where), 401, `uid ${uid}`);
    }
    assert.equal(await d.metric('acpd_model_unauthorized_total'), 2);
    assert.equal(taker.requests.length, 0);
    const own = statusOf(AGENT, where);
    taker.answer((await taker.asked()).callId);
    assert.equal(await own, 200);
    assert.equal(await statusOf(AGENT, { ...where, key: `${where.key}0` }), 401);
    await taker.c.close();
    await d.stop();
  });
});

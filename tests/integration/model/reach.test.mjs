// SPDX-License-Identifier: Apache-2.0
// Who reaches the listener of a session: with --agent-user only its user does, whatever key another one has. Root only.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { ACPD, Daemon } from '../../lib/daemon.mjs';
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

// Becomes the daemon after it has given up netlink sockets, as a confined service has.
const WITHOUT_NETLINK = `#!/usr/bin/env python3
import ctypes, os, struct, sys
ALLOW, REFUSE, SOCKET = 0x7fff0000, 0x50000 | 97, 41 if os.uname().machine == 'x86_64' else 198
rows = [(0x20, 0, 0, 0), (0x15, 0, 3, SOCKET), (0x20, 0, 0, 16), (0x15, 0, 1, 16), (0x06, 0, 0, REFUSE), (0x06, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *row) for row in rows))
program = struct.pack('HxxxxxxP', len(rows), ctypes.addressof(code))
if ctypes.CDLL(None, use_errno=True).prctl(22, 2, program, 0, 0):
    sys.exit('no filter: ' + os.strerror(ctypes.get_errno()))
os.execv('${ACPD}', ['acpd'] + sys.argv[1:])
`;

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

  test('where the kernel is not to be asked the key alone decides, and the answer says so', async (t) => {
    const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-netlink-'));
    const program = path.join(dir, 'acpd');

    t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
    fs.writeFileSync(program, WITHOUT_NETLINK, { mode: 0o755 });
    const d = await Daemon.startFor(t, { program, flags: { agentUser: 'nobody' }, harnesses: [STUB_WITH_PROVIDER] });
    const taker = await connectTaker(d);
    const { sessionId, _meta } = await taker.newSession();

    assert.equal(_meta.acpd.provider.callerChecked, false);
    const other = statusOf(OTHER, listenerOf(sessionId));
    taker.answer((await taker.asked()).callId);
    assert.equal(await other, 200);
    await taker.c.close();
  });
});

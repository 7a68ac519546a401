// SPDX-License-Identifier: Apache-2.0
// What works for a client may not act as one: a process that the daemon has started, and whatever comes of it, is refused on acp.sock and
// control.sock, however it detaches itself; its own MCP socket stays open to it, and so do both sockets to everybody else.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import test, { after, before } from 'node:test';
import { AcpClient } from '../../lib/acp.mjs';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import { until } from '../../lib/wait.mjs';

let d;

// Says hello on a socket and writes what comes back, or "closed", to a file.
const SPY = `
import net from 'node:net';
import fs from 'node:fs';
const [socket, hello, out] = process.argv.slice(2);
const s = net.connect(socket);
let text = '';
const end = () => { fs.writeFileSync(out + '.new', text || 'closed'); fs.renameSync(out + '.new', out); process.exit(0); };
s.on('data', (data) => { text += data; if (text.includes('\\n')) end(); });
s.on('close', end);
s.on('error', () => {});
s.write(hello + '\\n');
`;
const HELLO = {
  acp: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}',
  control: '{"jsonrpc":"2.0","id":1,"method":"sessions"}',
};
// How a child may run the spy: as it is; in a session of its own, orphaned, with nothing in its environment, until it has its answer (the
// daemon ends what a harness leaves); and from deep down.
const WAYS = {
  directly: 'exec "$@"',
  'orphaned, with a cleared environment': '(setsid env -i "$@" &); for out; do :; done; until [ -e "$out" ]; do sleep 0.05; done',
  'below twenty shells': `n=\${DEPTH:-0}; if [ $n -lt 20 ]; then export DEPTH=$((n+1)); sh "$0" "$@"; else exec "$@"; fi`,
};
const KINDS = ['acp', 'control'];
const files = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? os.tmpdir(), 'acpd-own-'));
const file = (name) => path.join(files, name);
const id = (kind, way) => `spy-${kind}-${Object.keys(WAYS).indexOf(way)}`;

// Harnesses that are no agents: each runs the spy in one of the ways, and ends.
function spies() {
  fs.writeFileSync(file('spy.mjs'), SPY);
  return KINDS.flatMap((kind) => Object.entries(WAYS).map(([way, text]) => {
    const name = id(kind, way);

    fs.writeFileSync(file(`${name}.sh`), `${text}\n`);
    return {
      id: name, command: '/bin/sh',
      args: [file(`${name}.sh`), process.execPath, file('spy.mjs'), file(`${kind}.sock`), HELLO[kind], file(`${name}.out`)],
    };
  }));
}

before(async () => {
  d = await Daemon.start({ harnesses: spies() });
  for (const kind of KINDS)
    fs.symlinkSync(path.join(d.runDir, `${kind}.sock`), file(`${kind}.sock`));
});
after(async () => {
  await endInOrder(d);
  fs.rmSync(files, { recursive: true, force: true });
});

async function answer(name) {
  await until(() => fs.existsSync(file(name)), name, 15000);
  return fs.readFileSync(file(name), 'utf8');
}

for (const way of Object.keys(WAYS)) {
  test(`a child is refused on acp.sock and control.sock: ${way}`, async () => {
    const c = await d.client();

    for (const kind of KINDS) {
      c.request('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { harness: id(kind, way) } } });
      const text = await answer(`${id(kind, way)}.out`);

      assert.match(text, /"CHILD_NOT_ALLOWED"/, `${kind}: ${text}`);
      assert.ok(!/"result"/.test(text), text);
      await d.waitLog((l) => l.msg === 'refused' && l.reason === 'CHILD_NOT_ALLOWED' && l.over === `${kind}.sock`);
    }
    c.ws.destroy();
  });
}

test('others are served on both, whoever their parents are', async () => {
  const c = new AcpClient(await LineTransport.unix(d.acpSocket), { daemon: d });

  assert.equal((await c.initialize()).protocolVersion, 1);
  await c.close();
  const r = spawnSync('/bin/sh', ['-c', `(setsid env -i "${ACPD}" sessions --run-dir "${d.runDir}" 2>&1)`], { encoding: 'utf8' });
  assert.equal(r.status, 0, r.stdout + r.stderr);
});

test('where agents run as the daemon\'s own user, /ready and the log say what that opens', async () => {
  const { json } = await d.http('/ready', { token: d.token });

  assert.equal(json.isolation.daemonUser, true);
  await d.waitLog((l) => l.level === 'warn' && /agents run as the daemon's own user/.test(l.msg));
});

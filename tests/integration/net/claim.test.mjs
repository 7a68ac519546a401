// SPDX-License-Identifier: Apache-2.0
// build: release
// A daemon without a token, how it gets one, who may give it, and where the token must never be seen.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { spawn } from 'node:child_process';
import test, { after } from 'node:test';
import { assertNoViolations } from '../../lib/acp.mjs';
import { ACPD, Daemon, withDaemon } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import { deadline } from '../../lib/rawws.mjs';
import { filesBelow, textOf } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { list, textIfOurs } from '../../lib/procs.mjs';
import { acpd } from '../run.mjs';

after(assertNoViolations);

const newToken = () => `token-${crypto.randomBytes(12).toString('hex')}`;

const claim = (d, input, args = []) => acpd(['claim', '--run-dir', d.runDir, ...args], { input });

async function upgrade(d, token) {
  const ws = await d.ws({ token });

  ws.destroy();
  return ws.status === 101 ? 101 : [ws.status, JSON.parse(ws.body).error.reason];
}

test('unclaimed: only /health answers, everything else is 503 UNCLAIMED, before any 401', async () => {
  await withDaemon({ token: null }, async (d) => {
    const health = await d.http('/health');

    assert.deepEqual([health.status, health.json], [200, { status: 'ok' }]);
    const others = [['GET', '/ready'], ['GET', '/metrics'], ['GET', '/acp'], ['GET', '/'], ['GET', '/nope'], ['POST', '/health'],
      ['POST', '/acp'], ['GET', '/v1/usage'], ['PUT', '/v1/archives/sha256:00'], ['DELETE', '/ready'], ['GET', '/claim'], ['POST', '/claim']];
    for (const [method, where] of others) {
      for (const token of [undefined, 'x'.repeat(40)]) {
        const res = await d.http(where, { method, token });

        assert.deepEqual([res.status, res.json?.error.reason], [503, 'UNCLAIMED'], `${method} ${where}`);
      }
    }
    for (const token of [null, '', 'x'.repeat(40)])
      assert.deepEqual(await upgrade(d, token), [503, 'UNCLAIMED']);
  });
});

test('unclaimed: a local client is told so and sent away', async () => {
  await withDaemon({ token: null }, async (d) => {
    const line = await LineTransport.unix(d.acpSocket);
    let text = '';

    line.on('message', ({ payload }) => { text += payload; });
    await line.waitClosed();
    const msg = JSON.parse(text);
    assert.deepEqual([msg.id, msg.error.data.reason], [null, 'UNCLAIMED']);
  });
});

test('acpd claim with the token on stdin', async () => {
  await withDaemon({ token: null }, async (d) => {
    const token = newToken();

    assert.deepEqual(await claim(d, `${token}\n`), { code: 0, signal: null, stdout: '', stderr: '' });
    assert.equal(await upgrade(d, token), 101);
    assert.deepEqual(await upgrade(d, `${token}\n`.slice(0, -2)), [401, 'UNAUTHORIZED']);
    assert.deepEqual(await upgrade(d, null), [401, 'UNAUTHORIZED']);
    assert.equal((await d.http('/ready', { token })).status, 200);
    assert.ok(!d.stderr.includes(token), 'the token is in the logs');
  });
});

test('acpd claim with --token-file, and by the environment', async () => {
  for (const how of ['flag', 'env']) {
    await withDaemon({ token: null }, async (d) => {
      const token = newToken();
      const file = path.join(d.dir, 'given');

      fs.writeFileSync(file, token, { mode: 0o600 });
      const { code, stderr } = how === 'flag' ? await claim(d, '', ['--token-file', file])
        : await acpd(['claim'], { env: { ACPD_RUN_DIR: d.runDir, ACPD_TOKEN_FILE: file } });
      assert.equal(code, 0, stderr);
      assert.equal(await upgrade(d, token), 101);
    });
  }
});

// As in a container: the image names the daemon's own token file, and the sandbox has none.
test('acpd claim reads standard input where the file that the environment names does not exist', async () => {
  await withDaemon({ token: null }, async (d) => {
    const token = newToken();
    const env = { ACPD_RUN_DIR: d.runDir, ACPD_TOKEN_FILE: path.join(d.dir, 'none') };
    const { code, stderr } = await acpd(['claim'], { env, input: `${token}\n` });

    assert.equal(code, 0, stderr);
    assert.equal(await upgrade(d, token), 101);
    assert.equal((await acpd(['claim', '--token-file', path.join(d.dir, 'other')], { env, input: token })).code, 2);
  });
});

test('a second claim: the same token is fine, another one is refused with 3', async () => {
  await withDaemon({ token: null }, async (d) => {
    const token = newToken();
    const other = newToken();

    assert.equal((await claim(d, token)).code, 0);
    assert.equal((await claim(d, token)).code, 0);
    const refused = await claim(d, other);
    assert.equal(refused.code, 3);
    assert.match(refused.stderr, /claimed/);
    assert.ok(!refused.stderr.includes(other));
    assert.deepEqual(await upgrade(d, other), [401, 'UNAUTHORIZED']);
    assert.equal(await upgrade(d, token), 101);
  });
});

test('a daemon that began with a token cannot be claimed with another', async () => {
  await withDaemon({}, async (d) => {
    assert.equal((await claim(d, newToken())).code, 3);
    assert.equal((await claim(d, d.token)).code, 0);
    assert.equal(await upgrade(d, d.token), 101);
  });
});

test('a token that is too short, too long or missing is a usage error, and the daemon stays unclaimed', async () => {
  await withDaemon({ token: null }, async (d) => {
    for (const bad of ['', '\n', 'short', 'fifteen-letters', 'x'.repeat(5000), 'sha256:00', `sha256:${'g'.repeat(64)}`]) {
      const { code, stderr } = await claim(d, bad);

      assert.equal(code, 2, bad.slice(0, 20));
      assert.match(stderr, /^acpd: .+\n$/);
      assert.ok(!bad.trim() || bad.length < 8 || !stderr.includes(bad.trim()), 'it is not repeated');
    }
    assert.equal((await claim(d, '', ['--token-file', path.join(d.dir, 'none')])).code, 2);
    assert.deepEqual(await upgrade(d, 'x'.repeat(40)), [503, 'UNCLAIMED']);
    assert.equal((await claim(d, 'sixteen-letters!')).code, 0, 'the shortest');
    assert.equal(await upgrade(d, 'sixteen-letters!'), 101);
  });
});

test('only a digest goes over the control socket, and only a digest is taken', async () => {
  await withDaemon({ token: null }, async (d) => {
    const line = await LineTransport.unix(d.controlSocket);
    const ask = (params) => new Promise((resolve) => {
      line.once('message', ({ payload }) => resolve(JSON.parse(payload)));
      line.text(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'claim', params }));
    });

    for (const params of [{}, { digest: 5 }, { digest: 'plain-token-plain-token' }, { digest: 'sha256:' }, { token: 'x'.repeat(40) },
      { digest: `sha256:${'0'.repeat(63)}` }, { digest: `sha256:${'z'.repeat(64)}` }])
      assert.equal((await ask(params)).error.code, -32602, JSON.stringify(params));
    const token = newToken();
    const digest = `sha256:${crypto.createHash('sha256').update(token).digest('hex')}`;
    assert.deepEqual((await ask({ digest })).result, {});
    assert.equal(await upgrade(d, token), 101);
    line.destroy();
  });
});

test('the control socket survives bad lines', async () => {
  await withDaemon({}, async (d) => {
    const line = await LineTransport.unix(d.controlSocket);
    const next = () => new Promise((resolve) => { line.once('message', ({ payload }) => resolve(JSON.parse(payload))); });

    for (const [text, code] of [['{', -32700], ['[]', -32600], ['5', -32600], ['{"id":1}', -32600],
      ['{"jsonrpc":"2.0","id":2,"method":"nope"}', -32601], ['{"jsonrpc":"2.0","id":3,"method":"session/new","params":{}}', -32601]]) {
      const answer = next();

      line.text(text);
      assert.equal((await deadline(answer, 5000, text)).error.code, code, text);
    }
    const answer = next();
    line.text('{"jsonrpc":"2.0","id":4,"method":"doctor","params":{}}');
    assert.equal((await answer).result.claimed, true);
    line.destroy();
  });
});

test('a token file that comes later is read at SIGHUP, and a new one replaces the old', async () => {
  await withDaemon({ token: null, args: [] }, async (d) => {
    await d.stop({ keep: true });
    await d.restart({ flags: { tokenFile: d.tokenFile } });
    assert.deepEqual(await upgrade(d, 'x'.repeat(40)), [503, 'UNCLAIMED'], 'the file is not there yet');
    const [first, second] = [newToken(), newToken()];
    const rotate = async (token) => {
      const from = d.logs.length;

      fs.writeFileSync(`${d.tokenFile}.new`, token, { mode: 0o600 });
      fs.renameSync(`${d.tokenFile}.new`, d.tokenFile);
      d.child.kill('SIGHUP');
      await until(() => d.logs.slice(from).some((l) => /token file/.test(l.msg)), 'it is read');
    };

    await rotate(first);
    assert.equal(await upgrade(d, first), 101);
    await rotate(second);
    assert.equal(await upgrade(d, second), 101);
    assert.deepEqual(await upgrade(d, first), [401, 'UNAUTHORIZED']);
    await rotate('short');
    assert.equal(await upgrade(d, second), 101, 'a bad file changes nothing');
  });
});

test('a token file may hold the digest instead', async () => {
  const token = newToken();
  const digest = `sha256:${crypto.createHash('sha256').update(token).digest('hex')}`;

  await withDaemon({ token: digest }, async (d) => {
    assert.equal(await upgrade(d, token), 101);
    assert.deepEqual(await upgrade(d, digest), [401, 'UNAUTHORIZED']);
  });
});

// What somebody with another uid gets from a socket: 'refused', 'closed', or the text of the answer.
async function asNobody(socket, text) {
  const script = `
    process.setgroups([]); process.setgid(65534); process.setuid(65534);
    const s = require('net').connect(${JSON.stringify(socket)});
    let got = '';
    s.on('error', (e) => { console.log(['EACCES', 'EPERM', 'ECONNREFUSED'].includes(e.code) ? 'refused' : 'closed'); process.exit(); });
    s.on('connect', () => s.write(${JSON.stringify(`${text}\n`)}));
    s.on('data', (d) => { got += d; if (got.endsWith('\\n')) { console.log(got); process.exit(); } });
    s.on('end', () => { console.log(got || 'closed'); process.exit(); });
    setTimeout(() => { console.log('hang'); process.exit(); }, 5000);`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';

  child.stdout.on('data', (data) => { out += data; });
  await deadline(new Promise((resolve) => { child.on('close', resolve); }), 15000, 'the other user');
  return out.trim();
}

test('another user is refused on both sockets, by their mode and by the peer\'s uid', { skip: process.getuid() !== 0 && 'needs root' }, async () => {
  await withDaemon({ token: null }, async (d) => {
    const token = newToken();
    const digest = `sha256:${crypto.createHash('sha256').update(token).digest('hex')}`;
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'claim', params: { digest } });

    for (const socket of [d.controlSocket, d.acpSocket]) {
      assert.equal(fs.statSync(socket).mode & 0o777, 0o600);
      assert.equal(await asNobody(socket, text), 'refused');
      fs.chmodSync(socket, 0o666); // so that only the check of the peer is in the way
      assert.equal(await asNobody(socket, text), 'closed');
    }
    assert.deepEqual(await upgrade(d, token), [503, 'UNCLAIMED']);
    assert.equal((await claim(d, token)).code, 0, 'while root may');
    assert.equal(await asNobody(d.controlSocket, text.replace('claim', 'sessions')), 'closed');
    assert.equal(await asNobody(d.acpSocket, text), 'closed');
    await d.waitLog((l) => /refused/.test(l.msg));
  });
});

test('the token is in no command line, environment, log, error or file but its own', async () => {
  await withDaemon({ flags: { log: 'debug' } }, async (d) => {
    const { token } = d;
    const secrets = [token, Buffer.from(token).toString('base64url'), crypto.createHash('sha256').update(token).digest('hex')];
    const c = await d.client();
    const { sessionId } = await c.newSession();
    const { step, open } = gate(d);
    const run = LineTransport.spawn(ACPD, ['run', '--url', d.url, '--token-file', d.tokenFile, '-p', `echo begun\n${step}`]);
    const bridge = LineTransport.spawn(ACPD, ['acp', '--url', d.url, '--token-file', d.tokenFile]);
    const claiming = spawn(ACPD, ['claim', '--run-dir', d.runDir], { stdio: ['pipe', 'ignore', 'ignore'] });

    await c.prompt(sessionId, 'environ\nfds\ngetparams');
    await d.http('/nope', { token });
    await d.ws({ token: `${token}x` }).then((ws) => ws.destroy());
    const pids = list().map((p) => p.pid).filter((pid) => pid !== process.pid);
    assert.ok(pids.includes(run.child.pid) && pids.includes(d.pid) && pids.includes(claiming.pid));
    for (const secret of secrets) {
      for (const pid of pids)
        assert.ok(!['cmdline', 'environ'].some((file) => textIfOurs(pid, file)?.includes(secret)), `process ${pid}`);
      assert.ok(!JSON.stringify(c.messages).includes(secret), 'the harness saw it');
      for (const dir of [d.stateDir, d.runDir, d.wsDir, d.workDir].filter((x) => fs.existsSync(x))) {
        for (const file of filesBelow(dir))
          assert.ok(!textOf(file, 'latin1')?.includes(secret), file);
      }
    }
    claiming.stdin.end(token);
    bridge.close();
    open();
    await Promise.all([run.exited, bridge.exited, new Promise((resolve) => { claiming.on('close', resolve); })]);
    for (const secret of secrets)
      assert.ok(!`${d.stderr}${d.stdout}${run.stderr}${bridge.stderr}`.includes(secret), 'logs and errors');
  });
});

test('a token file that others can read, a directory, or a bad token is refused at start', async () => {
  const d = await Daemon.start();
  const bad = async (write) => {
    const file = path.join(d.dir, `bad-${crypto.randomBytes(4).toString('hex')}`);

    write(file);
    return acpd(['serve', '--listen', '127.0.0.1:0', '--state', path.join(d.dir, 's2'), '--run-dir', path.join(d.dir, 'r2'), '--token-file', file]);
  };

  try {
    for (const write of [(f) => fs.writeFileSync(f, 'short', { mode: 0o600 }), (f) => fs.writeFileSync(f, '', { mode: 0o600 }),
      (f) => fs.mkdirSync(f), (f) => fs.writeFileSync(f, 'x'.repeat(9000), { mode: 0o600 }),
      (f) => { fs.writeFileSync(f, newToken()); fs.chmodSync(f, 0o644); }]) {
      const { code, stderr } = await bad(write);

      assert.ok([1, 2].includes(code), `exit ${code}`);
      assert.match(stderr, /token/i);
    }
    await d.stop();
  } finally {
    await d.discard();
  }
});

test('the run directory: sockets go with the daemon, stale ones are taken over, living ones are not', async () => {
  await withDaemon({}, async (d) => {
    const second = await acpd(['serve', '--listen', '127.0.0.1:0', '--state', path.join(d.dir, 's2'), '--run-dir', d.runDir,
      '--token-file', d.tokenFile]);

    assert.equal(second.code, 1, 'a living daemon has them');
    assert.match(second.stderr, /control\.sock/);
    assert.equal((await acpd(['sessions', '--run-dir', d.runDir])).code, 0);
    await d.kill9();
    assert.ok(fs.existsSync(d.controlSocket), 'a killed daemon leaves its sockets');
    assert.equal((await acpd(['sessions', '--run-dir', d.runDir])).code, 6);
    await d.restart();
    assert.equal((await acpd(['sessions', '--run-dir', d.runDir])).code, 0);
    await d.stop({ keep: true });
    assert.deepEqual(fs.readdirSync(d.runDir).filter((f) => f.endsWith('.sock')), []);
    const unreachable = net.connect(d.controlSocket);
    await new Promise((resolve) => { unreachable.on('error', resolve); });
  });
});

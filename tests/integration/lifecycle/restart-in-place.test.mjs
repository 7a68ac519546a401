// SPDX-License-Identifier: Apache-2.0
// `acpd restart` and POST /v1/restart: turns end first, then the installed program takes the daemon's place under the same process id, with
// the claim, the minted tokens and the port.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { ACPD, Daemon } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import * as procs from '../../lib/procs.mjs';
import { assertNoViolations, deadline } from '../../lib/rawws.mjs';
import { listed, mint } from '../../lib/tokens.mjs';
import { until } from '../../lib/wait.mjs';
import { acpd } from '../run.mjs';

after(assertNoViolations);

const newToken = () => `token-${crypto.randomBytes(12).toString('hex')}`;
const restart = (d, ...args) => acpd(['restart', '--run-dir', d.runDir, ...args], { timeout: 120000 });
const DONE = { code: 0, signal: null, stdout: '', stderr: '' };
const info = async (d) => (await d.http('/v1/info', { token: d.token })).json;

// The programs in a folder of their own, which a test may replace.
function installed(t) {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-installed-'));
  const from = path.dirname(ACPD);

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  fs.chmodSync(dir, 0o755);
  for (const name of fs.readdirSync(from).filter((f) => /^acpd(-[a-z]+)?$/.test(f)))
    fs.copyFileSync(path.join(from, name), path.join(dir, name));
  return path.join(dir, 'acpd');
}

test('a running turn ends, and claim, settings, minted tokens, port and process id stay; the program is the one that is installed now', async (t) => {
  const program = installed(t);
  const d = await Daemon.startFor(t, { token: null, program });
  d.token = newToken();
  assert.equal((await acpd(['claim', '--run-dir', d.runDir, '--set', 'network-max=allowlist', '--sandbox-id', 'sbx1'], { input: d.token })).code, 0);
  const { token } = await mint(d, 'admin');
  const before = await info(d), old = procs.link(d.pid, 'exe');
  const c = await d.client(), { sessionId } = await c.newSession(), held = gate(d);
  const turn = c.startPrompt(sessionId, `echo begun; ${held.step}; echo done`);
  await c.waitUpdate((u) => u.update.content?.text === 'begun');
  fs.copyFileSync(program, `${program}.new`);
  fs.renameSync(`${program}.new`, program);

  assert.equal(procs.link(d.pid, 'exe'), `${program} (deleted)`);

  const done = restart(d, '--drain', '3600');
  await d.waitLog((l) => l.mod === 'life' && l.to === 'draining');
  held.open();
  assert.equal((await turn.answer).result.stopReason, 'end_turn');
  assert.deepEqual(await done, DONE);
  assert.equal(d.exit, undefined);
  assert.deepEqual([old, procs.link(d.pid, 'exe')], [program, program]);
  const now = await info(d);
  assert.deepEqual([now.network.max, now.sandboxId], [before.network.max, 'sbx1']);
  assert.notEqual(now.incarnation, before.incarnation);
  assert.equal((await d.http('/v1/tokens', { token })).status, 200);
  assert.equal((await listed(d)).length, 1);
  const again = await d.client();
  await again.load(sessionId);
  assert.equal((await again.prompt(sessionId, 'echo on'))._meta.acpd.turn, 2);
  await again.close();
  assert.deepEqual(await restart(d), DONE, 'and once more');
  assert.equal((await info(d)).network.max, 'allowlist');
  await d.stop();
});

test('POST /v1/restart, with a token file; a turn that has no time is cut off', async (t) => {
  const d = await Daemon.startFor(t);
  const c = await d.client(), { sessionId } = await c.newSession(), { incarnation } = await info(d);
  const turn = c.startPrompt(sessionId, 'echo begun; sleep 60000');
  await c.waitUpdate((u) => u.update.content?.text === 'begun');
  const post = (body, token = d.token) => d.http('/v1/restart', { method: 'POST', token, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

  assert.equal((await post({ drainSeconds: -1 })).json.error.reason, 'FIELD_OUT_OF_RANGE');
  assert.equal((await post({}, (await mint(d, 'drive')).token)).status, 403);
  const { status, json } = await post({ drainSeconds: 0 });
  assert.deepEqual([status, json.draining.why], [202, 'restart']);
  const { error } = await turn.answer;
  assert.deepEqual([error.data.turn.class, error.data.turn.sameKey], ['shutdown', true]);
  await until(async () => (await info(d).catch(() => ({ incarnation }))).incarnation !== incarnation, 'the next program');
  await (await d.client()).close();
  await d.stop();
});

test('a replaced token stays replaced over a restart, and a token file that has changed counts', { skip: process.getuid() !== 0 && 'needs root' }, async (t) => {
  const d = await Daemon.startFor(t), first = d.token, second = newToken();

  assert.equal((await acpd(['claim', '--replace', '--run-dir', d.runDir], { input: second })).code, 0);
  assert.deepEqual(await restart(d), DONE);
  assert.deepEqual([(await d.http('/v1/info', { token: first })).status, (await d.http('/v1/info', { token: second })).status], [401, 200]);
  d.token = newToken();
  d.writeToken(d.token);
  assert.deepEqual(await restart(d), DONE);
  assert.deepEqual([(await d.http('/v1/info', { token: second })).status, (await d.http('/v1/info', { token: d.token })).status], [401, 200]);
  await d.stop();
});

// Each call of the command's that sends waits, so that the daemon's end of the connection is closed before.
test('a command whose daemon ends under it says so, and is not killed', { skip: spawnSync('strace', ['-V']).error && 'no strace' }, async (t) => {
  const runDir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-run-'));
  const server = net.createServer((socket) => socket.destroy()).listen(path.join(runDir, 'control.sock'));

  t.after(() => { server.close(); fs.rmSync(runDir, { recursive: true }); });
  await once(server, 'listening');
  const child = spawn('strace', ['-qq', '-o', '/dev/null', '-e', 'trace=write,sendto', '-e', 'inject=write,sendto:delay_enter=500000',
    ACPD, 'restart', '--run-dir', runDir], { stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0` } }); // LeakSanitizer cannot run under strace
  const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')]);

  assert.deepEqual([code, signal], [6, null], stderr);
  assert.match(stderr, /no daemon answers on .*control\.sock/);
});

test('an unclaimed daemon stays unclaimed; told to end while it drains, it ends', async (t) => {
  const d = await Daemon.startFor(t, { token: null });

  assert.deepEqual(await restart(d), DONE);
  assert.equal((await d.http('/v1/info')).status, 503);
  d.token = newToken();
  assert.equal((await acpd(['claim', '--run-dir', d.runDir], { input: d.token })).code, 0);
  const c = await d.client(), { sessionId } = await c.newSession();
  const turn = c.startPrompt(sessionId, 'echo begun; sleep 60000');
  turn.answer.catch(() => {});
  await c.waitUpdate((u) => u.update.content?.text === 'begun');
  const cut = restart(d, '--drain', '3600');
  await d.waitLog((l) => l.mod === 'life' && l.to === 'draining');
  d.child.kill('SIGTERM');
  assert.deepEqual(await deadline(d.exited, 20000, 'the end'), { code: 0, signal: null });
  void cut; // it waits for a daemon that does not come back
});

test('a restart that cannot be handed over is a failure, and not an end that was asked for', async (t) => {
  const d = await Daemon.startFor(t);
  const c = await d.client(), { sessionId } = await c.newSession(), held = gate(d);
  const turn = c.startPrompt(sessionId, `echo begun; ${held.step}`);
  await c.waitUpdate((u) => u.update.content?.text === 'begun');
  const { status } = await d.http('/v1/restart', { method: 'POST', token: d.token, headers: { 'Content-Type': 'application/json' }, body: '{"drainSeconds": 3600}' });
  assert.equal(status, 202);
  execFileSync('prlimit', ['--pid', `${d.pid}`, '--nofile=3:']); // no descriptor for what is handed over
  held.open();
  await turn.answer;
  assert.deepEqual(await deadline(d.exited, 20000, 'the end'), { code: 1, signal: null });
  assert.match(d.stderr, /cannot restart in place: Too many open files/);
});

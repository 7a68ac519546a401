// SPDX-License-Identifier: Apache-2.0
// build: release
// What the command line says when something is wrong: what, where, why, and what to do next. A row each.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { ownPort } from '../../lib/ports.mjs';
import { acpd } from '../run.mjs';

const NONE = `sha256:${'0'.repeat(64)}`;
let d, unclaimed, deaf, port, wrong, text;

before(async () => {
  d = await Daemon.start();
  unclaimed = await Daemon.start({ token: null });
  deaf = await ownPort();
  port = new URL(d.url).port;
  wrong = path.join(d.workDir, 'wrong-token');
  fs.writeFileSync(wrong, `${'w'.repeat(32)}\n`, { mode: 0o600 });
  text = path.join(d.workDir, 'a-file');
  fs.writeFileSync(text, 'x');
});
after(async () => {
  await endInOrder(d);
  await endInOrder(unclaimed);
});

const http = (daemon) => `http://127.0.0.1:${new URL(daemon.url).port}`;
const state = (name) => ['--state', path.join(d.workDir, name), '--run-dir', path.join(d.workDir, name, 'run')];
const manifest = (content) => {
  const file = path.join(d.workDir, 'manifest.json');

  fs.writeFileSync(file, content);
  return file;
};

// [what was done, arguments, exit code, what has to be said]
const ROWS = [
  ['a port that is taken', () => ['serve', '--listen', `127.0.0.1:${port}`, ...state('s1')], 1,
    [() => `127.0.0.1:${port}`, /Address already in use/, /--listen/]],
  ['no daemon there', () => ['run', '--url', `ws://127.0.0.1:${deaf}`, '-p', 'x'], 6, [/no daemon answers on/, () => `ws://127.0.0.1:${deaf}`]],
  ['no daemon there, for archives', () => ['archive', 'have', '--url', `http://127.0.0.1:${deaf}`, NONE], 6,
    [/no daemon answers on/, () => `127.0.0.1:${deaf}`, /Connection refused/]],
  ['a wrong token', () => ['run', '--url', d.url, '--token-file', wrong, '-p', 'x'], 6, [() => d.url, /401/, /token is missing or wrong/, /--token-file/]],
  ['no token', () => ['acp', '--url', d.url], 6, [() => d.url, /401/, /--token-file/]],
  ['a wrong token, for archives', () => ['archive', 'have', '--url', http(d), '--token-file', wrong, NONE], 6, [() => http(d), /401/, /--token-file/]],
  ['not claimed', () => ['run', '--url', unclaimed.url, '-p', 'x'], 6, [() => unclaimed.url, /503/, /not claimed/, /acpd claim/]],
  ['not claimed, for archives', () => ['archive', 'have', '--url', http(unclaimed), NONE], 6, [/503/, /not claimed/, /acpd claim/]],
  ['another path', () => ['run', '--url', `${new URL(d.url).origin.replace('null', 'ws:')}//127.0.0.1:${port}/other`, '-p', 'x'], 6, [/404/, /is it acpd/]],
  ['a token file that is not there', () => ['run', '--url', d.url, '--token-file', '/nowhere/token', '-p', 'x'], 6, [/\/nowhere\/token/, /No such file/]],
  ['an unknown harness', () => ['run', '--socket', d.acpSocket, '--harness', 'frob', '-p', 'x'], 1, [/no such harness/, /installed: stub/, /acpd harness list/]],
  ['a manifest that is not JSON', () => ['serve', '--check', '--harness-config', manifest('{\n  "harnesses": [\n    {,\n'), ...state('s3')], 2,
    [/manifest\.json/, /not valid JSON, line 3, column 6/]],
  ['a state directory that cannot be made', () => ['serve', '--check', '--state', path.join(text, 'state')], 2, [/--state/, /a-file\/state/, /Not a directory/]],
  ['a run directory that cannot be made', () => ['serve', '--check', ...state('s4').slice(0, 2), '--run-dir', '/proc/nope/run'], 2, [/--run-dir/, /\/proc/]],
  ['https for archives', () => ['archive', 'have', '--url', 'https://127.0.0.1:1', NONE], 2, [/https:/, /without TLS/, /http:\/\//]],
  ['a URL of another kind', () => ['run', '--url', 'ftp://x', '-p', 'x'], 2, [/ftp:\/\/x/, /ws:\/\//]],
  ['an unknown command of a group', () => ['archive', 'frob'], 2, [/archive frob/, /--help/]],
];

test('messages say what, where, why and what to do next', async (t) => {
  for (const [name, args, code, wanted] of ROWS) {
    await t.test(name, async () => {
      const r = await acpd(args(), { clean: true, timeout: 20000 });

      assert.equal(r.code, code, r.stderr);
      const said = r.stderr.split('\n').find((l) => l.startsWith('acpd: ')) ?? r.stderr;
      for (const w of wanted) {
        const part = typeof w === 'function' ? w() : w;

        assert.ok(typeof part === 'string' ? said.includes(part) : part.test(said), `${part}: ${said}`);
      }
    });
  }
});

test('a group of commands lists them: on standard output if asked, else as a usage error', async () => {
  const asked = await acpd(['archive', '--help']);
  const alone = await acpd(['archive']);

  assert.deepEqual([asked.code, asked.stderr, alone.code, alone.stdout], [0, '', 2, '']);
  for (const r of [asked.stdout, alone.stderr])
    assert.match(r, /acpd archive put FILE[^]*acpd archive get DIGEST/);
});

test('--check leaves no directory behind', async () => {
  const dir = path.join(d.workDir, 'checked');
  const { code } = await acpd(['serve', '--check', '--state', path.join(dir, 'a', 'b'), '--run-dir', path.join(dir, 'r')], { clean: true });

  assert.equal(code, 0);
  assert.deepEqual(fs.existsSync(dir), false);
  assert.deepEqual(fs.readdirSync(d.workDir).filter((n) => n.startsWith('.acpd')), []);
});

test('one address serves every command, by its ws: or its http: name', async () => {
  for (const url of [http(d), d.url]) {
    const have = await acpd(['archive', 'have', '--token-file', d.tokenFile, NONE], { env: { ACPD_URL: url } });
    const run = await acpd(['run', '--token-file', d.tokenFile, '--harness', 'stub', '-p', 'echo here'], { env: { ACPD_URL: url }, cwd: d.workDir });

    assert.deepEqual([have.code, have.stderr, run.code, run.stdout], [1, '', 0, 'here\n'], url);
  }
});

test('a daemon without its token file says so, and how it gets one', async () => {
  const missing = path.join(d.workDir, 'token-to-come');
  const child = spawn(ACPD, ['serve', '--listen', '127.0.0.1:0', '--token-file', missing, ...state('s5')], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';

  child.stderr.on('data', (data) => { log += data; });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('close', resolve));
  const line = log.split('\n').filter(Boolean).map((l) => JSON.parse(l)).find((l) => /not claimed/.test(l.msg));
  assert.deepEqual([line?.level, line?.path], ['warn', missing]);
  assert.match(line.msg, /waited for/);
});

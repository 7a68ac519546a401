// SPDX-License-Identifier: Apache-2.0
// slow
// `acpd acp`: ACP on standard input and output, the same content as over the WebSocket.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import test, { after, before } from 'node:test';
import { AcpClient } from '../../lib/acp.mjs';
import { ACPD, Daemon, endInOrder, ROOT } from '../../lib/daemon.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import { deadline, sleep } from '../../lib/rawws.mjs';
import { acpd } from '../run.mjs';

let d;

before(async () => {
  d = await Daemon.start({ flags: { harnessMax: 8 } }); // its default changes with the memory that is left, and initialize tells it
});
after(() => endInOrder(d));

const viaUrl = (daemon = d) => ['acp', '--url', daemon.url, '--token-file', daemon.tokenFile];
const viaSocket = (daemon = d) => ['acp', '--socket', daemon.acpSocket];
const bridge = (args, options) => LineTransport.spawn(ACPD, args, options);
const init = { protocolVersion: 1, clientCapabilities: { _meta: { acpd: {} } }, clientInfo: { name: 'b', version: '1' } };
const line = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });

async function connect(args, opts = {}) {
  const c = new AcpClient(bridge(args), { daemon: d, ...opts });

  await c.initialize();
  return c;
}

// --- the same content --------------------------------------------------------------------------

// What a client received, as text, made comparable. Only these differ between two runs on one daemon:
// session ids, ids the stub makes (sessions, and messages named after them), times. Each is replaced by its
// kind and the order of its first appearance, so that a mixed-up id still shows.
function normalized(payloads) {
  const names = new Map();
  const name = (kind, id) => {
    if (!names.has(id))
      names.set(id, `${kind}${[...names.keys()].filter((k) => k.startsWith(kind)).length + 1}`);
    return names.get(id);
  };

  return payloads.map((text) => text
    .replace(/sess_[0-9a-f]{32}/g, (id) => name('sess', id))
    .replace(/stub_[0-9a-f]{16}/g, (id) => name('stub', id))
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'));
}

// One scripted run that uses every kind of message. Each step waits for what the step before brings, so
// that the order of all messages is the same in every run.
async function script(c) {
  const settled = () => c.waitUpdate('usage_update', { from: c.updates.length - 1 });

  await c.initialize({ caps: { session: { configOptions: { boolean: {} } } } });
  await c.call('session/list', { cwd: '/no/such/directory' });
  await c.fails('no/such', {});
  c.ws.text('{"broken":');
  await c.waitFor((m) => m.id === null);
  await c.fails('session/new', { cwd: 'relative', mcpServers: [] });
  const { sessionId } = await c.newSession();
  await settled();
  c.onPermission('allow');
  await c.prompt(sessionId, 'echo Grüße, 世界 🦀 \\ " \u0001 \u2028 \u007f\nthink hm\ntool t1 read A file\nplan\nimage\nperm t2\nusage');
  await c.prompt(sessionId, 'flood 200 200\nflood 2 300000\nlineflood 50 100');
  await c.fails('session/prompt', c.promptParams(sessionId, 'echo x\nerror -32603 It is broken'));
  await c.prompt(sessionId, 'mode code\nstop max_tokens');
  const from = c.updates.length;
  await c.call('session/set_config_option', { sessionId, configId: 'mode', value: 'ask' });
  await c.waitUpdate('current_mode_update', { from });
  await c.call('session/set_config_option', { sessionId, configId: 'web', type: 'boolean', value: true });
  const turn = c.startPrompt(sessionId, 'echo to be cancelled\nsleep 60000');
  await c.waitUpdate((u) => u.update.content?.text === 'to be cancelled');
  c.cancel(sessionId);
  await turn.answer;
  await c.load(sessionId);
  await c.call('session/close', { sessionId });
  await c.fails('session/prompt', c.promptParams(sessionId, 'echo x'));
  await c.call('session/delete', { sessionId });
  await c.call('session/list', { cwd: '/no/such/directory' });
}

async function received(transport) {
  const payloads = [];

  transport.on('message', ({ payload }) => payloads.push(payload.toString()));
  const c = new AcpClient(transport, { daemon: d });
  await script(c);
  await c.close();
  // pushed by the clock, not by what the script does
  return normalized(payloads.filter((text) => !text.includes('"method":"_acpd/status"')));
}

test('one scripted run is the same, byte for byte, over the WebSocket, --url and --socket', async () => {
  const ws = await received(await d.ws());

  assert.ok(ws.length > 500, `${ws.length} messages`);
  for (const args of [viaUrl(), viaSocket()]) {
    const lines = await received(bridge(args));

    assert.equal(lines.length, ws.length, args[1]);
    for (const [i, text] of lines.entries())
      assert.equal(text, ws[i], `message ${i} over ${args[1]}`);
  }
  const direct = await received(await LineTransport.unix(d.acpSocket));
  assert.deepEqual(direct, ws, 'the socket itself');
});

test('what goes up is not changed either', async () => {
  const text = 'Grüße, 世界 🦀 \\\\ " \u007f'.repeat(2000);

  for (const args of [viaUrl(), viaSocket()]) {
    const c = await connect(args);
    const { sessionId } = await c.newSession();
    const _meta = { deep: { a: [1, 2.50, 1e3, 'ü\u2028'], b: null } };

    await c.prompt(sessionId, `echo ${text.replaceAll('\\\\', '\\')}`);
    assert.equal(c.chunks(sessionId)[0], text.replaceAll('\\\\', '\\'));
    await c.call('session/prompt', { ...c.promptParams(sessionId, 'meta'), _meta });
    assert.deepEqual(JSON.parse(c.chunks(sessionId)[1]), _meta);
    await c.close();
  }
});

test('lines may come in pieces, with CRLF, blank lines between, and without a newline at the end', async () => {
  for (const args of [viaUrl(), viaSocket()]) {
    const t = bridge(args);

    t.record = true;
    const bytes = Buffer.from(`\n${line(1, 'initialize', init)}\r\n\n${line('ü', 'session/list', {})}`);
    for (let i = 0; i < bytes.length; i += 7) {
      t.bytes(bytes.subarray(i, i + 7));
      if (i % 70 === 0)
        await sleep(1);
    }
    t.close();
    assert.deepEqual(await t.exited, { code: 0, signal: null });
    assert.deepEqual(t.lines.map((l) => JSON.parse(l).id), [1, 'ü']);
  }
});

test('a message of 20 MiB passes both ways', async () => {
  for (const args of [viaUrl(), viaSocket()]) {
    const c = await connect(args, { validate: 'none' });
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, `echo ${'x'.repeat(20 * 1024 * 1024)}`);
    assert.equal(c.chunks(sessionId)[0].length, 20 * 1024 * 1024);
    await c.close();
  }
});

test('a flood reaches a slow reader whole', async () => {
  const c = await connect(viaUrl(), { record: false, validate: 'none' });
  const { sessionId } = await c.newSession();
  let count = 0;

  c.on('update', (u) => { count += u.update.sessionUpdate === 'agent_message_chunk'; });
  const turn = c.startPrompt(sessionId, 'flood 30000 300');
  c.ws.pause();
  await sleep(500);
  c.ws.resume();
  assert.equal((await deadline(turn.answer, 20000, 'the flood')).result.stopReason, 'end_turn');
  assert.equal(count, 30000);
  await c.close();
});

// --- how it ends ---------------------------------------------------------------------------------

test('the end of standard input ends it with 0, after the answers that are owed', async () => {
  for (const args of [viaUrl(), viaSocket()]) {
    const t = bridge(args);

    t.record = true;
    t.text(line(1, 'initialize', init));
    t.text(line(2, 'session/list', {}));
    t.text(line(3, 'no/such', {}));
    t.close();
    assert.deepEqual(await deadline(t.exited, 5000, 'the bridge to end'), { code: 0, signal: null });
    assert.deepEqual(t.lines.map((l) => JSON.parse(l).id), [1, 2, 3]);
    assert.equal(t.stderr, '');
  }
});

test('lines that are no request have their answers too before it ends', async () => {
  for (const args of [viaUrl(), viaSocket()]) {
    const input = ['{', line(1, 'initialize', init), '[]', line(null, 'session/list', {}), line(2, 'session/list', {}), '5'].join('\n');
    const { code, stdout } = await acpd(args, { input, timeout: 5000 });

    assert.equal(code, 0);
    assert.deepEqual(stdout.trim().split('\n').map((l) => JSON.parse(l).id), [null, 1, null, null, 2, null]);
  }
});

test('input that ends at once ends it with 0', async () => {
  for (const args of [viaUrl(), viaSocket()]) {
    assert.deepEqual(await acpd(args, { timeout: 5000 }), { code: 0, signal: null, stdout: '', stderr: '' });
    assert.deepEqual(await acpd(args, { timeout: 5000, input: '' }), { code: 0, signal: null, stdout: '', stderr: '' });
  }
});

test('a file as standard input is read to its end', async () => {
  const file = path.join(d.dir, 'input.jsonl');

  fs.writeFileSync(file, `${line(1, 'initialize', init)}\n${line(2, 'session/list', {})}\n`);
  for (const args of [viaUrl(), viaSocket()]) {
    const stdin = fs.openSync(file);
    const { code, stdout } = await acpd(args, { stdin, timeout: 5000 });

    fs.closeSync(stdin);
    assert.equal(code, 0);
    assert.deepEqual(stdout.trim().split('\n').map((l) => JSON.parse(l).id), [1, 2]);
  }
});

test('a turn that outlasts the input does not keep it for ever, and the session goes on', async () => {
  const c = await connect(viaUrl());
  const { sessionId } = await c.newSession();

  c.startPrompt(sessionId, 'echo begun\nsleep 4000\necho ended');
  await c.waitUpdate('agent_message_chunk');
  c.ws.close();
  assert.deepEqual(await deadline(c.ws.exited, 4000, 'the bridge to end'), { code: 0, signal: null });
  const other = await d.client();
  await other.load(sessionId);
  await other.waitFor((m) => m.method === '_acpd/turn_end');
  assert.deepEqual(other.chunks(sessionId), ['begun', 'ended']);
  await other.close();
});

test('no daemon: exit 6 with one line on standard error', async () => {
  const none = path.join(d.dir, 'none.sock');

  for (const args of [['acp', '--url', 'ws://127.0.0.1:1/acp'], ['acp', '--socket', none], ['acp', '--run-dir', path.join(d.dir, 'no-run')]]) {
    const t = bridge(args, { env: { PATH: process.env.PATH } });

    assert.equal((await deadline(t.exited, 5000, args.join(' '))).code, 6, args.join(' '));
    assert.match(t.stderr, /^acpd: [^\n]+\n$/);
  }
});

test('an unclaimed daemon: exit 6', async () => {
  const own = await Daemon.start({ token: null });
  const token = path.join(own.dir, 'some-token');

  try {
    fs.writeFileSync(token, 'x'.repeat(30), { mode: 0o600 });
    for (const args of [['acp', '--url', own.url, '--token-file', token], ['acp', '--url', own.url], viaSocket(own)]) {
      const t = bridge(args);

      t.text(line(1, 'initialize', init));
      assert.equal((await deadline(t.exited, 5000, args.join(' '))).code, 6, args.join(' '));
      assert.match(t.stderr, /^acpd: [^\n]+\n$/);
    }
    await own.stop();
  } finally {
    await own.discard();
  }
});

test('a wrong token: exit 3 or 6 with a word on it, and the token is not repeated', async () => {
  const file = path.join(d.dir, 'wrong-token');
  const wrong = 'wrong-token-wrong-token';

  fs.writeFileSync(file, wrong, { mode: 0o600 });
  for (const args of [['acp', '--url', d.url, '--token-file', file], ['acp', '--url', d.url]]) {
    const t = bridge(args);

    const { code } = await deadline(t.exited, 5000, args.join(' '));

    assert.ok([3, 6].includes(code), `exit ${code}: ${t.stderr}`);
    assert.match(t.stderr, /^acpd: [^\n]*(unauthorized|401|token)[^\n]*\n$/i);
    assert.ok(!t.stderr.includes(wrong));
  }
});

test('the daemon goes away: the bridge ends with 1', async () => {
  for (const how of ['stop', 'kill9']) {
    const own = await Daemon.start();

    try {
      const bridges = [viaUrl(own), viaSocket(own)].map((args) => bridge(args));

      for (const t of bridges)
        await new AcpClient(t).initialize();
      await own[how]();
      for (const t of bridges) {
        assert.deepEqual(await deadline(t.exited, 5000, `the bridge after ${how}`), { code: 1, signal: null });
        assert.match(t.stderr, /^acpd: [^\n]+\n$/);
      }
    } finally {
      await own.discard();
    }
  }
});

test('a client that stops reading: the bridge ends by itself', async () => {
  const c = await connect(viaUrl());
  const { sessionId } = await c.newSession();

  c.startPrompt(sessionId, 'flood 20000 300');
  c.ws.child.stdout.destroy();
  const { code, signal } = await deadline(c.ws.exited, 10000, 'the bridge to end');
  assert.deepEqual([code, signal], [1, null]);
});

test('usage errors: exit 2', async () => {
  for (const args of [['acp', '--url', 'ftp://x/'], ['acp', '--url', 'ws://'], ['acp', '--url', 'ws://x:99999/acp'], ['acp', '--nope'],
    ['acp', 'extra'], ['acp', '--url']]) {
    const { code, stdout, stderr } = await acpd(args, { timeout: 5000 });

    assert.deepEqual([code, stdout], [2, ''], `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, /^acpd: [^\n]+\n$/);
  }
});

test('the socket in the run directory is the default, and every option has its variable', async () => {
  const token = fs.readFileSync(d.tokenFile, 'utf8').trim();

  for (const [args, env] of [[['acp', '--run-dir', d.runDir], {}], [['acp'], { ACPD_RUN_DIR: d.runDir }], [['acp'], { ACPD_SOCKET: d.acpSocket }],
    [['acp'], { ACPD_URL: d.url, ACPD_TOKEN_FILE: d.tokenFile }]]) {
    const t = bridge(args, { env: { PATH: process.env.PATH, ...env } });

    assert.equal((await new AcpClient(t).initialize()).protocolVersion, 1);
    t.close();
    assert.equal((await t.exited).code, 0);
    assert.ok(!t.stderr.includes(token));
  }
});

// --- a real client of this kind ------------------------------------------------------------------

// acpx as it comes from npm, with a home of its own and `acpd acp` as its agent.
async function acpx(args, { how = viaUrl(), cwd = d.workDir } = {}) {
  const home = fs.mkdtempSync(path.join(d.dir, 'home-'));
  const command = [ACPD, ...how].join(' ');
  const bin = path.join(ROOT, 'tests/node_modules/.bin/acpx');
  const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, XDG_CACHE_HOME: home };
  const child = spawn(process.execPath, [bin, '--agent', command, '--cwd', cwd, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const out = { stdout: '', stderr: '' };

  child.stdout.on('data', (data) => { out.stdout += data; });
  child.stderr.on('data', (data) => { out.stderr += data; });
  const code = await deadline(new Promise((resolve) => { child.on('close', resolve); }), 30000, 'acpx').finally(() => child.kill('SIGKILL'));
  return { code, ...out };
}

test('acpx, unmodified, completes a prompt over both forms of the bridge', async () => {
  for (const how of [viaUrl(), viaSocket()]) {
    const { code, stdout, stderr } = await acpx(['--format', 'quiet', 'exec', 'echo Grüße from the stub'], { how });

    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim(), 'Grüße from the stub');
  }
});

test('acpx: a tool with a permission, a changed file, the stop reason', async () => {
  const steps = 'perm t1\nwrite made.txt hello\necho finished';
  const { code, stdout, stderr } = await acpx(['--approve-all', '--format', 'json', 'exec', steps]);
  const messages = stdout.trim().split('\n').map((l) => JSON.parse(l));

  assert.equal(code, 0, stderr);
  assert.ok(messages.some((m) => m.method === 'session/request_permission'));
  assert.ok(stdout.includes('permission:allow') && stdout.includes('finished'));
  assert.equal(messages.find((m) => m.result?.stopReason)?.result.stopReason, 'end_turn');
  assert.equal(fs.readFileSync(path.join(d.workDir, 'made.txt'), 'utf8'), 'hello');
});

// SPDX-License-Identifier: Apache-2.0
// build: both
// Harnesses that cannot be started: session/new fails with a typed reason, nothing is left of it, and a
// neighbour on the same connection works on. The same when a session's process cannot be started again.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test, before, after } from 'node:test';
import { Daemon, endInOrder, STUB } from '../../lib/daemon.mjs';
import { assertGrown, mib, peakRss } from '../../lib/memory.mjs';
import { SLOW, sleep } from '../../lib/rawws.mjs';
import { Neighbour, failing, ofSession, sessionGone, turnEnds } from './rig.mjs';

let d, c, neighbour, files;

// A stub that can be broken from outside: it refuses to start while the file exists.
const BREAKABLE = (flag) => `#!/bin/sh\n[ -e '${flag}' ] && { echo broken >&2; exit 9; }\nexec '${STUB}' "$@"\n`;

before(async () => {
  files = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-start-'));
  fs.chmodSync(files, 0o755);
  const file = (name, text, mode) => {
    fs.writeFileSync(path.join(files, name), text, { mode });
    fs.chmodSync(path.join(files, name), mode);
    return path.join(files, name);
  };

  d = await Daemon.start({
    harnesses: [
      { id: 'mute', args: ['--init-silent'] },
      { id: 'slow', args: ['--init-delay', '400'] },
      { id: 'banner', args: ['--banner', 'Welcome to the stub'] },
      { id: 'quitter', args: ['--init-exit', '7'] },
      { id: 'true', command: '/bin/true' },
      { id: 'missing', command: '/nonexistent/agent' },
      { id: 'unfindable', command: 'no-such-agent-anywhere' },
      { id: 'plainfile', command: file('plain', 'no program', 0o644) },
      { id: 'garbage', command: file('garbage', '\x00\x01\x02 no program', 0o755) },
      { id: 'folder', command: files },
      { id: 'future', args: ['--protocol', '2'] },
      { id: 'login', args: ['--auth'] },
      { id: 'copilot-login', args: ['--auth'], quirks: 'copilot' },
      { id: 'refuser', args: ['--new-error', '-32603'] },
      { id: 'echoer', command: '/bin/cat' },
      { id: 'babbler', command: '/usr/bin/yes' },
      { id: 'endless', command: '/bin/cat', args: ['/dev/zero'] },
      { id: 'breakable', command: file('breakable', BREAKABLE(path.join(files, 'flag')), 0o755) },
    ],
  });
  c = await d.client();
  neighbour = await Neighbour.start(c);
});

after(async () => {
  try {
    await neighbour?.stop();
  } finally {
    await endInOrder(d, c);
    fs.rmSync(files, { recursive: true, force: true });
  }
});

const listed = async () => (await c.call('session/list', {})).sessions.map((s) => s.sessionId);

const refusals = [
  ['exits at once with an error', 'quitter', 'HARNESS_EXITED'],
  ['exits at once without a word', 'true', 'HARNESS_EXITED'],
  ['does not exist', 'missing', 'HARNESS_NOT_INSTALLED'],
  ['is not in the PATH', 'unfindable', 'HARNESS_NOT_INSTALLED'],
  ['is a file that is no program', 'plainfile', 'HARNESS_NOT_INSTALLED'],
  ['is a folder', 'folder', /^HARNESS_(NOT_INSTALLED|SPAWN_FAILED)$/],
  ['is executable garbage', 'garbage', 'HARNESS_SPAWN_FAILED'],
  ['speaks another version', 'future', 'HARNESS_PROTOCOL'],
  ['refuses session/new', 'refuser', 'HARNESS_OPEN_FAILED'],
  ['sends our own words back', 'echoer', /^HARNESS_(OPEN_FAILED|PROTOCOL)$/],
  ['writes endless lines that are no JSON', 'babbler', 'HARNESS_PROTOCOL'],
];

for (const [what, harness, reason] of refusals) {
  test(`a harness that ${what}: session/new fails with ${reason}`, async (t) => {
    const before = await listed();
    const error = await neighbour.during(() => c.fails('session/new', {
      cwd: d.workDir, mcpServers: [], _meta: { acpd: { harness } },
    }));

    t.diagnostic(`${error.code} ${error.data.reason}: ${error.rpcMessage}`);
    assert.equal(error.code, -32603);
    assert.match(error.data.reason, reason instanceof RegExp ? reason : new RegExp(`^${reason}$`));
    assert.deepEqual(await listed(), before, 'no session is left');
    await sleep(30);
    const strays = d.ours().filter((p) => !ofSession(neighbour.sessionId).some((o) => o.pid === p.pid));
    await d.gone(strays, 6000);
    assert.deepEqual(fs.readdirSync(path.join(d.stateDir, 'sessions')).length, before.length, 'no journal is left');
    assert.deepEqual(fs.readdirSync(path.join(d.stateDir, 'homes')).length, before.length, 'no home is left');
  });
}

test('a harness that wants a login which nobody knows: the error says what to set, and so does authenticate', async () => {
  for (const [harness, what] of [['login', /_meta\.acpd\.env.*authMethods/], ['copilot-login', /_meta\.acpd\.provider, or COPILOT_GITHUB_TOKEN, GH_TOKEN or GITHUB_TOKEN/]]) {
    const error = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { harness } } });

    assert.deepEqual([error.code, error.data.reason], [-32603, 'HARNESS_AUTH_REQUIRED']);
    assert.match(error.rpcMessage, what);
    const one = await d.client({ path: `/acp?harness=${harness}` });
    const refused = await one.fails('authenticate', { methodId: 'any' });

    assert.equal(refused.code, -32601);
    assert.match(refused.rpcMessage, what);
  }
});

test('a harness whose first line never ends: HARNESS_PROTOCOL, bounded memory', async (t) => {
  const base = d.rss();
  const { result, peak } = await peakRss(d, () => neighbour.during(() => c.fails('session/new', {
    cwd: d.workDir, mcpServers: [], _meta: { acpd: { harness: 'endless' } },
  })));

  t.diagnostic(`RSS ${mib(base)} -> ${mib(peak)} MiB`);
  assert.equal(result.data.reason, 'HARNESS_PROTOCOL');
  assertGrown(d, base, peak, 160);
});

test('a harness that is slow, or greets with a banner, is waited for', async () => {
  for (const harness of ['slow', 'banner']) {
    const { sessionId } = await neighbour.during(() => c.newSession({ meta: { harness } }));

    await c.prompt(sessionId, 'echo here');
    assert.deepEqual(c.chunks(sessionId), ['here']);
    await c.call('session/delete', { sessionId });
    await sessionGone(d, sessionId);
  }
});

test('a process that cannot be started again: class harness_start; when it can, the next prompt works', async (t) => {
  const flag = path.join(files, 'flag');

  t.after(() => fs.rmSync(flag, { force: true }));
  const { sessionId } = await c.newSession({ meta: { harness: 'breakable' } });

  await c.prompt(sessionId, 'echo one');
  fs.writeFileSync(flag, '');
  assert.equal((await failing(c, sessionId, 'echo before; crash exit 1')).error.data.turn.class, 'harness_exit');
  const { error } = await neighbour.during(() => failing(c, sessionId, 'echo two', { timeout: 5000 }));
  assert.equal(error.code, -32603);
  assert.equal(error.data.turn.class, 'harness_start');
  assert.equal(turnEnds(c, sessionId).length, 3);
  fs.rmSync(flag);
  const from = c.updates.length;
  await c.prompt(sessionId, 'echo three');
  assert.deepEqual(c.chunks(sessionId, from), ['three']);
  await c.call('session/delete', { sessionId });
  await sessionGone(d, sessionId);
});

test('the program disappears: class harness_start, and a load says why too', async (t) => {
  const file = path.join(files, 'breakable');
  const away = `${file}.away`;

  t.after(() => fs.existsSync(away) && fs.renameSync(away, file));
  const { sessionId } = await c.newSession({ meta: { harness: 'breakable' } });

  await c.prompt(sessionId, 'echo one');
  fs.renameSync(file, away);
  await failing(c, sessionId, 'crash exit 1');
  const { error } = await failing(c, sessionId, 'echo two');
  assert.equal(error.data.turn.class, 'harness_start');
  assert.match(error.data.turn.message, /breakable/);
  const refused = await c.fails('session/load', { sessionId, cwd: d.workDir, mcpServers: [] });
  assert.equal(refused.code, -32603);
  assert.equal(refused.data.reason, 'HARNESS_NOT_INSTALLED');
  fs.renameSync(away, file);
  await c.load(sessionId);
  assert.equal((await c.prompt(sessionId, 'echo three')).stopReason, 'end_turn');
  await c.call('session/delete', { sessionId });
  await sessionGone(d, sessionId);
});

test('a cwd that went away: the next start fails with a typed reason', async () => {
  const cwd = path.join(d.workDir, 'passing');
  fs.mkdirSync(cwd);
  fs.chmodSync(cwd, 0o777);
  const { sessionId } = await c.newSession({ cwd });

  await c.prompt(sessionId, 'echo one');
  fs.rmdirSync(cwd);
  await failing(c, sessionId, 'crash exit 1');
  const { error } = await failing(c, sessionId, 'echo two');
  assert.equal(error.data.turn.class, 'harness_start');
  await c.call('session/delete', { sessionId });
  await sessionGone(d, sessionId);
});

test('a harness that never answers initialize: the others work, a stop of the daemon ends it', async (t) => {
  const own = await Daemon.startFor(t, { harnesses: [{ id: 'mute', args: ['--init-silent'] }] });
  const client = await own.client();
  const asked = client.fails('session/new', { cwd: own.workDir, mcpServers: [], _meta: { acpd: { harness: 'mute' } } });
  const beside = await Neighbour.start(client);
  await beside.during(() => sleep(300));
  await beside.stop();
  await own.stop();
  assert.equal((await asked).data.reason, 'SHUTTING_DOWN');
});

test('a harness that never answers initialize: HARNESS_START_TIMEOUT after --harness-start, which the error names', async (t) => {
  const own = await Daemon.startFor(t, { flags: { harnessStart: 1 }, harnesses: [{ id: 'mute', args: ['--init-silent'] }] });
  const client = await own.client();
  const error = await client.fails('session/new', { cwd: own.workDir, mcpServers: [], _meta: { acpd: { harness: 'mute' } } });

  assert.equal(error.code, -32603);
  assert.equal(error.data.reason, 'HARNESS_START_TIMEOUT');
  assert.match(error.rpcMessage, /within 1 s; --harness-start allows more/);
});

test('variables that are too large together: the error names the largest, the limits, and no value', async () => {
  const env = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`LARGE_${i}`, `${i === 7 ? 'xy' : 'x'}`.repeat(60000)]));
  const error = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { harness: 'stub', env } } });

  assert.equal(error.data.reason, 'HARNESS_SPAWN_FAILED');
  assert.match(error.rpcMessage, /arguments and variables have 12\d{6} bytes, the largest \(LARGE_7\) 120009; Linux accepts 131071 in one/);
  assert.doesNotMatch(error.rpcMessage, /xy/);
});

// SPDX-License-Identifier: Apache-2.0
// How an unclaimed daemon comes to life: by a token file that appears, with settings, and after a kill in the middle of a turn.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test, { after } from 'node:test';
import { assertNoViolations } from '../../lib/acp.mjs';
import { Daemon, withDaemon } from '../../lib/daemon.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import { Stream } from '../../lib/events.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { beforeEnd, until, withLife } from '../../lib/wait.mjs';
import { running } from '../ledger.mjs';
import { acpd } from '../run.mjs';

after(assertNoViolations);

const newToken = () => `token-${crypto.randomBytes(12).toString('hex')}`;
const root = process.getuid() === 0;

async function claimed(d, token) {
  return (await d.http('/ready', { token })).status === 200;
}

async function untilClaimed(d, token) {
  await until(() => claimed(d, token), 'the claim');
}

// One request to control.sock: the answer.
async function control(d, method, params = {}) {
  const line = await LineTransport.unix(d.controlSocket);
  const answer = new Promise((resolve) => line.on('message', ({ payload }) => resolve(JSON.parse(payload))));

  line.socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`);
  const msg = await answer;
  line.socket.destroy();
  return msg;
}

const digest = (token) => `sha256:${crypto.createHash('sha256').update(token).digest('hex')}`;

// --- the token file ----------------------------------------------------------------------------------

// An unclaimed daemon whose token file is to come, at a path below its folder.
const waiting = (where = 'to-come') => {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-token-'));

  return [path.join(dir, where), { token: null, flags: { tokenFile: path.join(dir, where) } }, () => fs.rmSync(dir, { recursive: true, force: true })];
};

async function withFile(where, body) {
  const [file, opts, clean] = waiting(where);

  try {
    await withDaemon(opts, (d) => body(d, file));
  } finally {
    clean();
  }
}

test('a token file that appears claims the daemon: written and closed, or renamed into place', async () => {
  for (const how of ['written', 'renamed']) {
    await withFile('to-come', async (d, file) => {
      const token = newToken();

      assert.equal((await d.http('/ready')).json.error.reason, 'UNCLAIMED');
      if (how === 'written') {
        fs.writeFileSync(file, `${token}\n`, { mode: 0o600 });
      } else {
        fs.writeFileSync(`${file}.new`, token, { mode: 0o600 });
        fs.renameSync(`${file}.new`, file);
      }
      await untilClaimed(d, token);
      assert.equal((await d.waitLog((l) => l.msg === 'claimed')).by, 'token file');
      const c = await d.connect({ token });
      const { agentCapabilities } = await c.initialize();

      assert.match(agentCapabilities._meta.acpd.incarnation, /^[0-9a-f]{32}$/);
      await c.close();
    });
  }
});

test('nor need its directories be there', async () => {
  await withFile('run/secrets/acpd/token', async (d, file) => {
    const token = newToken();

    await sleep(100);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, token, { mode: 0o600 });
    await untilClaimed(d, token);
  });
});

test('a file that is half written is not read: only its end counts', async () => {
  await withFile('to-come', async (d, file) => {
    const token = newToken();
    const fd = fs.openSync(file, 'w', 0o600);

    fs.writeSync(fd, token.slice(0, 20)); // long enough for a token
    await sleep(200);
    assert.equal((await d.http('/ready')).json.error.reason, 'UNCLAIMED');
    fs.writeSync(fd, token.slice(20));
    fs.closeSync(fd);
    await untilClaimed(d, token);
    assert.equal((await d.http('/ready', { token: token.slice(0, 20) })).status, 401);
  });
});

const UNFIT = {
  empty: [(file) => fs.writeFileSync(file, '', { mode: 0o600 }), 'TOKEN_INVALID'],
  'too short': [(file) => fs.writeFileSync(file, 'short', { mode: 0o600 }), 'TOKEN_INVALID'],
  'too large': [(file) => fs.writeFileSync(file, 'x'.repeat(10000), { mode: 0o600 }), 'TOKEN_UNREADABLE'],
  'for all to read': [(file, token) => { fs.writeFileSync(file, token); fs.chmodSync(file, 0o644); }, 'TOKEN_UNSAFE'],
  'for its group to read': [(file, token) => { fs.writeFileSync(file, token); fs.chmodSync(file, 0o640); }, 'TOKEN_UNSAFE'],
  'a symbolic link': [(file, token) => {
    fs.writeFileSync(`${file}.real`, token, { mode: 0o600 });
    fs.symlinkSync(`${file}.real`, `${file}.link`);
    fs.renameSync(`${file}.link`, file);
  }, 'TOKEN_UNSAFE'],
  ...(root && { "another's": [(file, token) => {
    fs.writeFileSync(`${file}.new`, token, { mode: 0o600 });
    fs.chownSync(`${file}.new`, 61999, 61999);
    fs.renameSync(`${file}.new`, file);
  }, 'TOKEN_UNSAFE'] }),
  'a directory': [(file) => { fs.mkdirSync(`${file}.d`); fs.renameSync(`${file}.d`, file); }, 'TOKEN_UNSAFE'],
};

test('one that is not fit is named in the log, claims nothing, and is waited for again', async () => {
  await withFile('to-come', async (d, file) => {
    for (const [what, [make, reason]] of Object.entries(UNFIT)) {
      const token = newToken();

      d.from = d.stderr.length;
      make(file, token);
      await d.waitLog((l) => l.msg === 'the token file claims nothing' && l.reason === reason).catch((e) => assert.fail(`${what}: ${e.message}`));
      assert.equal((await d.http('/ready', { token })).json.error.reason, 'UNCLAIMED', what);
      fs.rmSync(file, { recursive: true });
    }
    const token = newToken();

    fs.writeFileSync(file, token, { mode: 0o600 });
    await untilClaimed(d, token);
  });
});

test('one that is made fit by chmod claims', async () => {
  await withFile('to-come', async (d, file) => {
    const token = newToken();

    fs.writeFileSync(file, token, { mode: 0o644 });
    fs.chmodSync(file, 0o644);
    await d.waitLog((l) => l.reason === 'TOKEN_UNSAFE');
    fs.chmodSync(file, 0o600);
    await untilClaimed(d, token);
  });
});

test('after the claim a changed file changes nothing; SIGHUP reads it', async () => {
  await withFile('to-come', async (d, file) => {
    const [token, other] = [newToken(), newToken()];

    fs.writeFileSync(file, token, { mode: 0o600 });
    await untilClaimed(d, token);
    fs.writeFileSync(file, other, { mode: 0o600 });
    await sleep(200);
    assert.deepEqual([await claimed(d, token), await claimed(d, other)], [true, false]);
    process.kill(d.pid, 'SIGHUP');
    await untilClaimed(d, other);
    assert.equal(await claimed(d, token), false);
  });
});

// --- settings ----------------------------------------------------------------------------------------

const claim = (d, token, args) => acpd(['claim', '--run-dir', d.runDir, ...args], { input: token });
const sets = (o) => Object.entries(o).flatMap(([k, v]) => ['--set', `${k}=${v}`]);

test('acpd claim --set: settings hold from the first session on, and --sandbox-id names the sandbox', async () => {
  await withDaemon({ token: null, harnesses: [{ id: 'other' }], env: { E2B_SANDBOX_ID: 'of-the-template' } }, async (d) => {
    const token = newToken();
    const { code, stderr } = await claim(d, token, ['--sandbox-id', 'sbx-1', ...sets({
      'default-harness': 'other', 'session-max': 1, 'harness-idle': 77, 'harness-max': 3, 'harness-wait': 5, 'harness-start': 61, 'keep-sessions': '7d', 'network-max': 'off',
      'allow-origin': 'https://one.example', 'limit-pids': 100, 'archive-max': 70000, log: 'debug',
    })]);

    assert.equal(code, 0, stderr);
    const info = (await d.http('/v1/info', { token })).json;
    const c = await d.connect({ token });
    const { agentCapabilities } = await c.initialize();
    const acpdMeta = agentCapabilities._meta.acpd;

    assert.equal(info.sandboxId, 'sbx-1');
    assert.equal(acpdMeta.harness, 'other');
    assert.equal((await d.http('/health', { headers: { Origin: 'https://one.example' } })).status, 200);
    assert.equal((await d.http('/health', { headers: { Origin: 'https://two.example' } })).status, 403);
    const { harnesses, sessionMax, retention } = await c.call('_acpd/status', {});

    assert.deepEqual([harnesses.max, harnesses.idleSeconds, sessionMax, retention.keepSessions], [3, 77, 1, '1w']);
    await c.newSession();
    assert.equal((await c.fails('session/new', { cwd: d.workDir, mcpServers: [] })).data.reason, 'TOO_MANY_SESSIONS');
    const big = Buffer.alloc(80000);
    const { status, json } = await d.http(`/v1/archives/${digest(big)}`, { method: 'PUT', token, body: big });

    assert.deepEqual([status, json.error.reason], [413, 'ARCHIVE_TOO_LARGE']);
    await c.close();
  });
});

test('a claim brings how the daemon ends, and the times count from it', async () => {
  const cases = [['idle-exit', 'idleExit'], ['max-life', 'maxLife']];
  // What the claimed daemon says, and the turn that has begun, if there is to be one: all of it before the time is over.
  const begin = async (d, token, what, seconds) => {
    const c = await d.connect({ token });

    await c.initialize();
    const { nextDeadline } = await c.call('_acpd/status', {});
    assert.notEqual(nextDeadline?.what, 'drain');
    if (what !== 'maxLife')
      return { nextDeadline };
    const { sessionId } = await c.newSession();
    return { nextDeadline, ...await running(c, sessionId, 'begun', `sleep ${seconds * 1000 + 500}; echo done`) };
  };

  await Promise.all(cases.map(([option, what]) => withLife(4, async (seconds) => {
    let result;

    await withDaemon({ token: null }, async (d) => {
      const token = newToken();

      await sleep(1500);
      const claimed = Date.now();
      const { code, stderr } = await claim(d, token, sets({ [option]: seconds, drain: 30 }));

      assert.equal(code, 0, stderr);
      result = await beforeEnd(d, () => begin(d, token, what, seconds));
      if (result.late)
        return;
      const { nextDeadline, answer } = result;
      assert.equal(nextDeadline.what, what);
      assert.ok(Date.parse(nextDeadline.at) >= claimed + seconds * 1000 - 100, `${what} at ${nextDeadline.at}, claimed at ${new Date(claimed).toISOString()}`);
      if (what === 'maxLife')
        assert.equal((await answer).result?.stopReason, 'end_turn', 'a turn has the time of the drain that was claimed');
      assert.equal((await d.exited).code, 0);
    });
    return result;
  })));
});

test('a setting that is unknown, not claimable, weaker or wrong is refused by name, and nothing happens', async () => {
  await withDaemon({ token: null, flags: { levelMin: 'guarded', networkMax: 'allowlist' } }, async (d) => {
    const token = newToken();
    const rows = [
      [{ nope: '1' }, 'SETTING_UNKNOWN', 'settings.nope'], [{ url: 'ws://x' }, 'SETTING_UNKNOWN', 'settings.url'],
      [{ 'agent-user': 'root' }, 'SETTING_NOT_CLAIMABLE', 'settings.agent-user'], [{ state: '/' }, 'SETTING_NOT_CLAIMABLE', 'settings.state'],
      [{ 'token-file': '/x' }, 'SETTING_NOT_CLAIMABLE', 'settings.token-file'], [{ 'harness-config': '/x' }, 'SETTING_NOT_CLAIMABLE', 'settings.harness-config'],
      [{ 'level-min': 'open' }, 'SETTING_WEAKER', 'settings.level-min'], [{ 'network-max': 'on' }, 'SETTING_WEAKER', 'settings.network-max'],
      [{ 'session-max': '0' }, 'OPTION_INVALID', 'settings.session-max'], [{ 'session-max': 1.5 }, 'OPTION_INVALID', 'settings.session-max'],
      [{ 'session-max': null }, 'OPTION_INVALID', 'settings.session-max'], [{ 'session-max': [1] }, 'OPTION_INVALID', 'settings.session-max'],
      [{ 'default-harness': 'nobody' }, 'OPTION_INVALID', 'settings.default-harness'], [{ 'upstream-allow': 'a b' }, 'OPTION_INVALID', 'settings.upstream-allow'],
      [{ 'keep-sessions': 'soon' }, 'OPTION_INVALID', 'settings.keep-sessions'], [{ 'allow-query-token': 'maybe' }, 'OPTION_INVALID', 'settings.allow-query-token'],
      [{ 'harness-idle': 5, 'session-max': 'many' }, 'OPTION_INVALID', 'settings.session-max'],
    ];

    for (const [settings, reason, field] of rows) {
      const { error } = await control(d, 'claim', { digest: digest(token), settings });

      assert.deepEqual([error?.data.reason, error?.data.field], [reason, field], JSON.stringify(settings));
      assert.equal((await d.http('/ready', { token })).json.error.reason, 'UNCLAIMED');
    }
    for (const [more, reason, field] of [[{ settings: 'x' }, 'FIELD_INVALID', 'settings'], [{ sandboxId: 'a b' }, 'SANDBOX_ID_INVALID', 'sandboxId'],
      [{ setting: {} }, 'PARAM_UNSUPPORTED', 'setting']]) {
      const { error } = await control(d, 'claim', { digest: digest(token), ...more });

      assert.equal(error?.data.field, field, `${reason} ${JSON.stringify(error)}`);
    }
    const { code, stderr } = await claim(d, token, sets({ 'agent-user': 'root' }));
    assert.deepEqual([code, stderr], [3, 'acpd: agent-user can only be set where the daemon is started\n']);
    assert.equal((await claim(d, token, ['--set', 'novalue'])).code, 2);
    // stricter is taken, and what was tried before is not
    assert.equal((await control(d, 'claim', { digest: digest(token), settings: { 'network-max': 'off', 'session-max': 2 } })).error, undefined);
    assert.ok(await claimed(d, token));
  });
});

test('the same claim again succeeds; the same token with other settings does not', async () => {
  await withDaemon({ token: null }, async (d) => {
    const token = newToken();
    const first = { digest: digest(token), settings: { 'session-max': 2 }, sandboxId: 'a' };

    for (const params of [first, first, { digest: first.digest }])
      assert.deepEqual((await control(d, 'claim', params)).result, {});
    for (const params of [{ ...first, settings: { 'session-max': 3 } }, { ...first, sandboxId: 'b' }])
      assert.equal((await control(d, 'claim', params)).error.data.reason, 'ALREADY_CLAIMED');
  });
});

// --- life --------------------------------------------------------------------------------------------

test('before the claim there is no incarnation, no child and no hosted server; each claim has an incarnation of its own', async () => {
  const seen = new Set();

  await withDaemon({ token: null }, async (d) => {
    const before = (await control(d, 'doctor')).result;

    assert.deepEqual([before.incarnation, before.claimed, before.children], ['', false, 0]);
    assert.equal(d.harnesses().length, 0);
    await until(() => d.descendants().length === 0, 'no child');
    await control(d, 'claim', { digest: digest(newToken()) });
    seen.add((await control(d, 'doctor')).result.incarnation);
  });
  await withDaemon({ token: null }, async (d) => {
    await control(d, 'claim', { digest: digest(newToken()) });
    seen.add((await control(d, 'doctor')).result.incarnation);
  });
  assert.equal(seen.size, 2);
  for (const id of seen)
    assert.match(id, /^[0-9a-f]{32}$/);
});

test('cold boot: killed in a turn, started unclaimed, claimed: every session goes on, without a gap', async () => {
  await withDaemon({}, async (d) => {
    const c = await d.client();
    const { sessionId } = await c.newSession();
    const idle = (await c.newSession()).sessionId;

    await c.prompt(sessionId, 'echo one');
    await c.prompt(idle, 'echo idle');
    c.startPrompt(sessionId, 'echo begun; sleep 60000');
    await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'begun');
    const { incarnation } = (await control(d, 'doctor')).result;
    await d.kill9();
    fs.rmSync(d.tokenFile);
    await d.restart();
    // recovery does not wait for the claim: the open turn is ended, with a record
    const ledger = () => fs.readFileSync(path.join(d.stateDir, 'usage.jsonl'), 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l));
    await until(() => ledger().some((r) => r.sessionId === sessionId && r.turn === 2), 'its record');
    assert.equal(ledger().filter((r) => r.sessionId === sessionId).length, 2);
    // the record is written before the next session is looked at
    const atStart = await until(async () => {
      const { result } = await control(d, 'doctor');
      return result.sessions === 2 && result;
    }, 'both sessions');

    assert.equal(atStart.claimed, false);
    assert.notEqual(atStart.incarnation, incarnation);
    d.token = newToken();
    assert.equal((await control(d, 'claim', { digest: digest(d.token) })).error, undefined);
    assert.notEqual((await control(d, 'doctor')).result.incarnation, atStart.incarnation, 'a copy of this memory would have it, too');
    const c2 = await d.client();

    for (const id of [sessionId, idle]) {
      await c2.load(id);
      assert.deepEqual(c2.messages.filter((m) => m.method === '_acpd/gap'), []);
      assert.equal((await c2.prompt(id, 'echo again')).stopReason, 'end_turn');
      const { events } = await (await Stream.open(d, `/v1/sessions/${id}/events`)).until((st) => st.ended);

      assert.deepEqual(events.map((e) => e.seq), events.map((_, i) => i + 1));
    }
    await c.close().catch(() => {});
    await c2.close();
  });
});

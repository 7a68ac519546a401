// SPDX-License-Identifier: Apache-2.0
// Checks that are commands: what is found out, what is told of it, and what the sandboxed side cannot do with it. By hand, with _acpd/check.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import * as procs from '../../../lib/procs.mjs';
import { until } from '../../../lib/wait.mjs';
import { isRoot } from '../../../lib/workspace.mjs';

const SECRET = 'sk-check-0123456789abcdef';
let d, c, s;

before(async () => {
  d = await Daemon.start({ flags: { limitPids: 64 }, stub: { args: ['--resume'], capabilities: { loadSession: true } } });
  c = await d.client();
  s = await c.newSession({ cwd: fs.mkdtempSync(`${d.dir}/cwd-`), meta: { secrets: { MY_SECRET: SECRET } } });
});
after(() => endInOrder(d, c));

const check = (checks, id = s.sessionId) => c.call('_acpd/check', { sessionId: id, ...(checks && { checks }) });
const one = async (members, id) => (await check([{ id: 'it', kind: 'command', ...members }], id)).results[0];
const sh = (command, more) => one({ command, ...more });
const events = () => c.notifications.filter((n) => n.method === '_acpd/event' && n.params.event.kind === 'check').map((n) => n.params);
const running = (mark) => procs.list().filter((p) => procs.alive(p) && procs.cmdline(p.pid).includes(mark));

describe('a command', () => {
  test('passes, fails, and what it said is told', async () => {
    const { verdict, results } = await check([
      { id: 'good', kind: 'command', argv: ['/bin/echo', 'hello'] },
      { id: 'bad', kind: 'command', command: 'echo out; echo err >&2; exit 3' },
      { id: 'expected', kind: 'command', command: 'exit 3', expectExit: 3 },
      { id: 'killed', kind: 'command', command: 'kill -SEGV $$' },
    ]);
    const [good, bad, expected, killed] = results.map(({ durationMs, changed, ...r }) => (assert.ok(durationMs >= 0 && changed === null), r));

    assert.equal(verdict, 'failed');
    assert.deepEqual(good, { id: 'good', kind: 'command', ok: true, exitCode: 0, stdoutTail: 'hello\n', stderrTail: '' });
    assert.deepEqual(bad, { id: 'bad', kind: 'command', ok: false, exitCode: 3, stdoutTail: 'out\n', stderrTail: 'err\n' });
    assert.deepEqual(expected, { id: 'expected', kind: 'command', ok: true, exitCode: 3, stdoutTail: '', stderrTail: '' });
    assert.deepEqual(killed, { id: 'killed', kind: 'command', ok: false, signal: 'SIGSEGV', stdoutTail: '', stderrTail: '' });
    assert.equal((await check([{ id: 'a', kind: 'command', argv: ['true'] }])).verdict, 'verified');
  });

  test('each is an event with a number, between those of turns', async () => {
    const before = events().length;
    const { results } = await check([{ id: 'x', kind: 'command', argv: ['true'] }, { id: 'y', kind: 'command', argv: ['false'] }]);
    const got = events().slice(before);

    assert.deepEqual(got.map((e) => e.event), results.map((r) => ({ kind: 'check', check: r })));
    assert.equal(got[1]._meta.acpd.seq, got[0]._meta.acpd.seq + 1);
  });

  test('as many as a list may have, in its order', async () => {
    const checks = Array.from({ length: 32 }, (_, i) => ({ id: `${i}`, kind: 'command', argv: ['sh', '-c', `exit ${i % 2}`] }));
    const { verdict, results } = await check(checks);

    assert.equal(verdict, 'failed');
    assert.deepEqual(results.map((r) => [r.id, r.ok]), checks.map(({ id }, i) => [id, i % 2 === 0]));
  });

  test('its directory, environment and words', async () => {
    const cwd = fs.mkdtempSync(`${d.dir}/other-`);

    assert.equal((await sh('pwd', { cwd })).stdoutTail, `${cwd}\n`);
    assert.equal((await sh('echo "$A-$HOME"', { env: { A: 'b c' } })).stdoutTail, `b c-${d.dir}/state/homes/${s.sessionId}\n`);
    assert.equal((await one({ argv: ['printf', '%s|', 'a b', '$HOME', ''] })).stdoutTail, 'a b|$HOME||');
  });

  test('one that cannot be executed has not been run', async () => {
    const file = `${fs.mkdtempSync(`${d.dir}/no-`)}/plain`;

    fs.writeFileSync(file, 'text');
    for (const more of [{ argv: [file] }, { argv: ['no-such-program'] }, { command: 'true', cwd: '/no/such/dir' }]) {
      const r = await one(more);

      assert.equal(r.ok, false);
      assert.equal(r.error.reason, 'CHECK_NOT_STARTED', JSON.stringify(r));
      assert.equal(r.exitCode, undefined);
    }
    fs.chmodSync(file, 0o755); // no program of any format
    fs.writeFileSync(file, '\0\0');
    assert.equal((await one({ argv: [file] })).error.reason, 'CHECK_NOT_STARTED');
  });

  test('one that hangs is ended when its time is over, with all it started', async () => {
    const r = await sh('trap "" TERM; (setsid sh -c "sleep 1717 & sleep 1717" &) ; sleep 1717; sleep 1717', { timeoutMs: 300 });

    assert.equal(r.ok, false);
    assert.equal(r.error.reason, 'CHECK_TIMED_OUT');
    assert.deepEqual(running('sleep\x001717'), []);
  });

  test('what it leaves running ends with it: double forks, sessions of their own, without environment', async () => {
    const r = await sh('(setsid env -i /bin/sleep 1718 >/dev/null 2>&1 &); (setsid /bin/sleep 1718 </dev/null >/dev/null 2>&1 &); sleep 0.1; echo ok');

    assert.equal(r.ok, true);
    assert.equal(r.leftBehind, 2);
    assert.deepEqual(running('sleep\x001718'), []);
  });

  test('1 GB of output: its end is kept, and the daemon stays small', async () => {
    const r = await sh('head -c 1000000000 /dev/zero | tr "\\0" x; echo; echo the end; head -c 3000000 /dev/zero >&2', { timeoutMs: 60000 });

    assert.equal(r.ok, true, JSON.stringify(r).slice(0, 300));
    assert.match(r.stdoutTail, /x\nthe end\n$/);
    assert.ok(JSON.stringify(r.stdoutTail).length <= 4200 && JSON.stringify(r.stderrTail).length <= 4200);
    assert.equal(r.stdoutTruncated, 1000000009 - r.stdoutTail.length);
    assert.ok(r.stderrTruncated > 2990000);
  });

  test('secrets are hidden, also where the output was cut', async () => {
    const shown = await sh('echo "$MY_SECRET" | tee /dev/stderr');

    assert.equal(shown.stdoutTail, '***\n');
    assert.equal(shown.stderrTail, '***\n');
    const cut = await sh('i=0; while [ $i -lt 12000 ]; do printf %s "$MY_SECRET"; i=$((i+1)); done');

    assert.match(cut.stdoutTail, /^[*]{4000,}$/);
    const journal = fs.readFileSync(`${d.dir}/state/sessions/${s.sessionId}.jsonl`, 'utf8');

    assert.ok(!journal.includes(SECRET));
  });

  test('forks without end stay below the session\'s limit, and nothing is left', { skip: !isRoot && 'needs cgroups' }, async () => {
    const r = await sh('f() { f | f & }; f; sleep 1719', { timeoutMs: 1500 });

    assert.equal(r.ok, false);
    await until(() => running('sleep\x001719').length === 0);
    assert.equal((await sh('echo alive')).stdoutTail, 'alive\n');
  });
});

test('a session\'s list: a fork has it, a load replaces it, an empty one is none', async () => {
  const checks = [{ id: 'mine', kind: 'command', argv: ['true'] }];
  const { sessionId } = await c.newSession({ meta: { checks } });
  const ids = async (id) => (await check(undefined, id)).results.map((r) => r.id);
  const none = (e) => e.data.reason === 'FIELD_MISSING' && e.data.field === 'checks';

  await c.prompt(sessionId, 'echo a');
  const fork = await c.call('session/fork', { sessionId, cwd: d.workDir, mcpServers: [] });

  assert.deepEqual(await ids(fork.sessionId), ['mine']);
  await c.load(sessionId, { meta: { checks: [{ ...checks[0], id: 'other' }] } });
  assert.deepEqual(await ids(sessionId), ['other']);
  await c.load(sessionId);
  assert.deepEqual(await ids(sessionId), ['other']);
  await c.load(sessionId, { meta: { checks: [] } });
  await assert.rejects(check(undefined, sessionId), none);
  await assert.rejects(check([], s.sessionId), none);
});

describe('while it runs', () => {
  test('another is refused, and a prompt waits', async () => {
    const mine = await c.newSession();
    const id = mine.sessionId;
    const first = check([{ id: 'slow', kind: 'command', command: 'sleep 0.5; echo done' }], id);
    const others = await Promise.allSettled(Array.from({ length: 20 }, () => one({ argv: ['true'] }, id)));

    assert.ok(others.every((o) => o.reason?.data.reason === 'SESSION_BUSY'), JSON.stringify(others[0]));
    const order = [];
    const prompt = c.prompt(id, 'echo later').then(() => order.push('prompt'));

    await first.then(() => order.push('check'));
    await prompt;
    assert.deepEqual(order, ['check', 'prompt']);
  });

  test('refused while a turn runs', async () => {
    const { sessionId } = await c.newSession();
    const prompt = c.prompt(sessionId, 'sleep 60000');

    await assert.rejects(one({ argv: ['true'] }, sessionId), (e) => e.data.reason === 'SESSION_BUSY');
    c.notify('session/cancel', { sessionId });
    await prompt;
  });

  test('cancelled: what runs is killed, the verdict is unchecked', async () => {
    const { sessionId } = await c.newSession();
    const { id, answer } = c.request('_acpd/check', { sessionId, checks: [{ id: 'a', kind: 'command', argv: ['true'] }, { id: 'b', kind: 'command', command: 'sleep 1720' }] });

    await until(() => running('sleep\x001720').length);
    c.notify('$/cancel_request', { requestId: id });
    const { result } = await answer;

    assert.equal(result.verdict, 'unchecked');
    assert.deepEqual(result.results.map((r) => r.id), ['a']);
    assert.deepEqual(running('sleep\x001720'), []);
  });

  test('the session is closed, or deleted: nothing is left', async () => {
    for (const method of ['session/close', 'session/delete']) {
      const { sessionId } = await c.newSession();
      const { answer } = c.request('_acpd/check', { sessionId, checks: [{ id: 'b', kind: 'command', command: 'setsid sleep 1721 & sleep 1721' }] });

      await until(() => running('sleep\x001721').length);
      await c.call(method, { sessionId });
      assert.deepEqual(running('sleep\x001721'), []);
      assert.equal((await answer).result?.verdict ?? 'unchecked', 'unchecked');
    }
  });

  test('the process of the check is killed by a neighbour: it is lost, not passed', async () => {
    const { sessionId } = await c.newSession();
    const r = await one({ command: 'kill -9 $(ps -o ppid= -p $PPID); sleep 5' }, sessionId);

    assert.equal(r.ok, false);
    assert.equal(r.error.reason, 'CHECK_LOST', JSON.stringify(r));
  });

  test('the daemon is killed: nothing is left, and it can be checked again', async (t) => {
    const mine = await Daemon.startFor(t, { stub: { args: ['--resume'], capabilities: { loadSession: true } } });
    const k = await mine.client();
    const { sessionId } = await k.newSession({ meta: { checks: [{ id: 'kept', kind: 'command', command: 'echo kept' }] } });

    await k.prompt(sessionId, 'echo a');
    k.request('_acpd/check', { sessionId, checks: [{ id: 'b', kind: 'command', command: 'setsid sleep 1722 & sleep 1722' }] });
    await until(() => running('sleep\x001722').length);
    await mine.kill9();
    await mine.restart();
    await until(() => running('sleep\x001722').length === 0);
    const again = await mine.client();

    await again.load(sessionId);
    const { verdict, results } = await again.call('_acpd/check', { sessionId });

    assert.equal(verdict, 'verified');
    assert.equal(results[0].stdoutTail, 'kept\n');
  });
});

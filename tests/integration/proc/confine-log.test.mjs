// SPDX-License-Identifier: Apache-2.0
// _meta.acpd.level {log: true}: what the programs of a session are refused comes as events, each once and its count at the end of the turn,
// and nothing that they do makes it more than that or holds up the daemon.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import * as procs from '../../lib/procs.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';

const X64 = process.arch === 'x64' && fs.existsSync('/usr/bin/perl') ? {} : { skip: 'the scripts know the numbers of x86-64' };
const KEYCTL = { call: 'keyctl', errno: 'EPERM', rule: 'none but level open' };
const SECRET = 'a-secret-of-the-session-0815';

describe('what a level refuses, as events', X64, () => {
  let d, c;

  before(async () => {
    d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true } } });
    c = await d.client();
  });
  after(() => endInOrder(d, c));

  const open = async (level, meta = {}) => (await c.newSession({ meta: { level: { atLeast: false, ...level }, ...meta } })).sessionId;
  const perl = (script) => `run perl -e '${script.replaceAll(';', '\\;')}'`;
  const all = (id) => c.messages.filter((m) => m.params?.sessionId === id && (m.method === '_acpd/event' || m.method === '_acpd/turn_end'));
  const refused = (id) => all(id).filter((m) => m.params.event?.event === 'confinement_refused').map((m) => m.params.event);
  const bare = ({ kind, event, ...rest }) => (assert.deepEqual([kind, event], ['lifecycle', 'confinement_refused']), rest);

  test('the first at once, the count before the turn ends; the next turn tells what is new in it', async () => {
    const id = await open({ name: 'guarded', log: true });
    const go = `${d.workDir}/go-${id}`;
    const turn = c.prompt(id, `${perl(`syscall(250, 7); select(undef, undef, undef, 0.02) until -e q{${go}}; syscall(250, 7) for (1..9); syscall(321, 5);`)}`);

    await until(() => refused(id).length > 0, 'the first refusal');
    assert.deepEqual(refused(id).map(bare), [{ ...KEYCTL, detail: '0x7', count: 1 }], 'while the command runs');
    fs.writeFileSync(go, '');
    await turn;
    const bpf = { ...KEYCTL, call: 'bpf', detail: '0x5', count: 1 };
    assert.deepEqual(refused(id).map(bare), [{ ...KEYCTL, detail: '0x7', count: 1 }, bpf, { ...KEYCTL, detail: '0x7', count: 10 }]);
    const order = all(id);
    assert.equal(order.at(-1).method, '_acpd/turn_end', 'counts are told before');
    assert.ok(order.slice(0, -1).every((m) => m.params._meta.acpd.turn === 1));

    await c.prompt(id, perl('syscall(321, 5);'));
    assert.deepEqual(refused(id).slice(3).map(bare), [{ ...bpf, count: 2 }]);
    await c.prompt(id, 'echo nothing');
    assert.equal(refused(id).length, 4);
  });

  test('the built-in tools are watched, too; who did not ask has no events', async () => {
    const id = await open({ name: 'guarded', log: true }), quiet = await open({ name: 'guarded' });

    for (const session of [id, quiet]) {
      const call = await new McpHttp(d, `/mcp?session=${session}`).modern('tools/call', { name: 'runCommand', arguments: { command: 'perl -e "syscall(250, 9); print \\$!+0"' } });
      assert.match(JSON.stringify((await call.over()).answer.result), /"1/, 'refused all the same');
      await c.prompt(session, perl('syscall(250, 7)'));
    }
    assert.deepEqual(refused(id).map(({ detail }) => detail).sort(), ['0x7', '0x9']);
    assert.deepEqual(refused(quiet), []);
  });

  test('strict: writes outside of what is the session’s, and connections past its network', async (t) => {
    const id = await open({ name: 'strict', log: true });
    const { level } = (await c.call('_acpd/status', { sessionId: id })).sessions[0];

    if (level?.missing.some(({ what }) => what !== 'uid'))
      return t.skip(JSON.stringify(level.missing));
    await c.prompt(id, 'run echo >inside && echo >/usr/share/acpd-x; echo >$HOME/x; perl -MSocket -e "socket(S, AF_INET, SOCK_STREAM, 0); connect(S, pack_sockaddr_in(443, inet_aton(q(192.0.2.7))))"'.replaceAll(';', '\\;'));
    // the stub's own memory, too, is outside of the session
    assert.deepEqual(refused(id).filter((e) => e.errno !== 'ENOSYS' && !e.detail.includes('/stub-store/')).map(({ call, detail, errno, count }) => [call, detail, errno, count]),
      [['openat', '/usr/share/acpd-x', 'EROFS', 1], ['connect', '192.0.2.7:443', 'ENETUNREACH', 1]]);
  });

  test('a level that is changed is the next harness’s', async () => {
    const id = await open({ name: 'open', log: true });

    await c.prompt(id, perl('syscall(250, 7)'));
    assert.deepEqual(refused(id), []);
    for (const log of [true, false]) {
      await c.call('session/resume', { sessionId: id, cwd: d.workDir, mcpServers: [], _meta: { acpd: { level: { name: 'guarded', atLeast: false, log } } } });
      await c.prompt(id, perl('syscall(250, 7)'));
      assert.equal(refused(id).length, 1, String(log));
    }
  });

  test('what is secret is hidden in it', async () => {
    const id = await open({ name: 'guarded', log: true }, { secrets: { TOKEN: SECRET } });

    await c.prompt(id, perl('my $t = $ENV{TOKEN}; syscall(249, $t, $t, 0, 0);'));
    assert.equal(refused(id)[0].call, 'request_key');
    assert.ok(refused(id)[0].detail.length > 0 && !JSON.stringify(all(id)).includes(SECRET), JSON.stringify(refused(id)));
  });

  test('100 000 refused calls, each another: bounded, and the daemon answers meanwhile', async () => {
    const id = await open({ name: 'guarded', log: true }), other = (await c.newSession()).sessionId;
    const turn = c.prompt(id, perl('syscall(250, $_) for (1..100000);'));
    let over = false, rounds = 0;

    turn.finally(() => { over = true; });
    for (; !over; await sleep(20)) {
      assert.equal((await d.http('/health')).status, 200);
      await c.prompt(other, 'echo here');
      rounds += over ? 0 : 1;
    }
    await turn;
    assert.ok(rounds > 0, 'others are answered while it goes on');
    const events = refused(id);
    assert.ok(events.length <= 64 * 2 + 1, String(events.length));
    const more = events.filter((e) => e.more !== undefined);
    assert.deepEqual(more.map(bare), [{ more: 100_000 - 128 }]);
  });

  test('a command that is killed in a refused call, and one whose session is closed meanwhile, leave nothing', async () => {
    const id = await open({ name: 'guarded', log: true });
    const threads = () => procs.threadCount(d.pid);
    const began = threads();

    await c.prompt(id, 'run for i in 1 2 3 4 5 6 7 8\\; do perl -e "syscall(250, 1) while 1" & p=$!\\; sleep 0.05\\; kill -9 $p\\; done');
    assert.equal(refused(id).at(-1).call, 'keyctl');
    const busy = c.prompt(id, perl('syscall(250, 2) while 1')).catch(() => {});
    await until(() => refused(id).some((e) => e.detail === '0x2'), 'it runs');
    await c.call('session/close', { sessionId: id });
    await busy;
    await until(() => threads() < began, 'the thread of its harness ends');
  });
});

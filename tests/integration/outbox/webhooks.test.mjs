// SPDX-License-Identifier: Apache-2.0
// Webhooks: who is told, by whom they are named, what they hear, and what is refused.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test, after } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { fencesOf } from '../../lib/fences.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { filesBelow } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { claimed, resumed, sandboxed } from '../robust/away.mjs';
import { acpd } from '../run.mjs';
import { Receiver, assertOrder, secretOf, statusOf, told, turns, verify, writeHooks } from './rig.mjs';

after(assertNoViolations);

const PERMISSION = { outcome: { outcome: 'selected', optionId: 'allow' } };
const SECRET = `s3cret-${crypto.randomBytes(20).toString('hex')}`;

const spoolOf = (d) => filesBelow(path.join(d.stateDir, 'outbox')).filter((f) => f.endsWith('.spool'));

describe('what is told', { concurrency: true }, () => {
  test('each type of event, with what its page says, and no secret', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    const c = await d.client();
    const { sessionId } = await c.newSession({ meta: { secrets: { TOKEN: SECRET }, budgets: { session: { toolCalls: 5 } } } });
    const { incarnation } = c.initializeResult.agentCapabilities._meta.acpd;

    c.onRequest('session/request_permission', () => PERMISSION);
    await c.prompt(sessionId, 'echo x', { meta: { acpd: { key: 'first' } } });
    await c.prompt(sessionId, 'perm p1; tool a read one; tool b read two; tool e read three');
    await c.startPrompt(sessionId, `error -32000 it was ${SECRET}`).answer;
    await c.call('_acpd/artifact/put', { sessionId, name: 'notes.txt', text: 'x' });
    await c.call('_acpd/check', { sessionId, checks: [{ id: 'never', kind: 'command', argv: ['false'] }, { id: 'always', kind: 'command', argv: ['true'] }] });
    await c.prompt(sessionId, 'echo y', { meta: { acpd: { checks: [{ id: 'yes', kind: 'command', argv: ['true'] }] } } });
    await c.startPrompt(sessionId, 'crash exit 3').answer;
    await r.until(5);
    await r.until(1, 'session.broken');
    const said = r.taken;

    assert.deepEqual(said.map((m) => m.data.number), said.map((_, i) => i + 1), 'numbered without a hole, in order');
    for (const m of said)
      assert.deepEqual([m.data.sessionId, m.data.incarnation], [sessionId, incarnation]);
    assertOrder(r.of('turn.ended'));
    const [first, , failed, checked, crashed] = r.of('turn.ended');
    assert.deepEqual([first.data.stopReason, first.data.key], ['end_turn', 'first']);
    assert.deepEqual([checked.data.checks.verdict, checked.data.checks.results.map((x) => x.id)], ['verified', ['yes']]);
    assert.equal(first.data.checks, undefined);
    assert.match(failed.data.error.message, /it was \*+/);
    assert.deepEqual([crashed.data.error.class, crashed.data.stopReason], ['harness_exit', undefined]);
    const [asked] = r.of('question.open');
    assert.deepEqual([asked.data.turn, asked.data.elicitation, asked.data.options.length > 1], [2, false, true]);
    assert.deepEqual(r.of('budget.warning').map((m) => [m.data.budget, m.data.scope, m.data.limit, m.data.used]), [['toolCalls', 'session', 5, 4]]);
    assert.deepEqual(r.of('artifact.created').map((m) => m.data.artifact.name), ['notes.txt']);
    assert.deepEqual(r.of('check.failed').map((m) => m.data.check), [{ id: 'never', kind: 'command', exitCode: 1 }]);
    assert.deepEqual(r.of('session.broken').map((m) => m.data.reason), ['HARNESS_EXITED']);
    assert.ok(!JSON.stringify(said.map((m) => m.data)).includes(SECRET));
    const spooled = spoolOf(d).map((f) => fs.readFileSync(f, 'utf8')).join('');
    for (const hidden of [SECRET, r.secret, r.secret.slice(6), r.url, 'secret-in-url'])
      assert.ok(!spooled.includes(hidden) && !d.stderr.includes(hidden), 'neither spool nor log has a secret');
    await until(async () => await d.metric('acpd_webhooks_sent_total') === said.length, 'they are counted, once they are answered');
    await d.stop();
  });

  test('each receiver by its own choice and numbers; while secrets are exchanged both sign', async (t) => {
    const [all, some] = [await Receiver.start(t), await Receiver.start(t)];
    const next = secretOf();
    const d = await told(t, [all, some], { hooks: [
      all.config({ secret: `${next} ${all.secret}`, id: 'all' }), some.config({ events: ['artifact.created', 'draft.ready'] })] });
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await turns(c, sessionId, 2);
    await c.call('_acpd/artifact/put', { sessionId, name: 'a', text: 'x' });
    await all.until(1, 'artifact.created');
    await some.until(1, 'artifact.created');
    assert.deepEqual(all.taken.map((m) => m.data.number), [1, 2, 3]);
    assert.deepEqual(some.taken.map((m) => [m.type, m.data.number]), [['artifact.created', 1]]);
    assert.equal(all.requests[0].headers['webhook-signature'].split(' ').length, 2);
    verify(next, all.requests[0].headers, all.requests[0].body);
    await until(async () => (await statusOf(d)).every((s) => s.pending === 0), 'both were answered');
    assert.deepEqual((await statusOf(d)).map((s) => [s.id, s.host, s.state, s.pending]).sort(),
      [[undefined, '127.0.0.1', 'active', 0], ['all', '127.0.0.1', 'active', 0]].sort());
    await d.stop();
  });

  test('the receiver of the docs', async (t) => {
    const [code] = fencesOf('daemon/protocol/webhooks.md').filter((f) => f.lang === 'ts');
    const r = await Receiver.start(t), { port, secret } = r;
    const d = await told(t, [r]);
    const file = path.join(d.dir, 'receiver.ts');
    const c = await d.client();
    const { sessionId } = await c.newSession();
    let printed = '';

    await r.close(); // it takes its port
    fs.writeFileSync(file, code.text);
    const child = spawn(process.execPath, ['--experimental-strip-types', '--no-warnings', file], { env: { ...process.env, WEBHOOK_SECRET: secret, PORT: port } });
    t.after(() => child.kill('SIGKILL'));
    child.stdout.on('data', (b) => { printed += b; });
    const isListening = () => new Promise((resolve) => {
      const socket = net.connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      }).on('error', () => resolve(false));
    });
    await until(isListening, 'it listens'); // or the webhook is tried in vain, and the next try is later than this waits
    await turns(c, sessionId, 2);
    await until(() => printed.split('\n').length > 2, 'both were printed');
    assert.deepEqual(printed.trim().split('\n').map((l) => JSON.parse(l).data.turn), [1, 2]);
    const forged = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}', headers: { 'webhook-id': 'a', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,AAAA' } });
    assert.equal(forged.status, 401);
    await d.stop();
  });
});

// One call over control.sock: the answer.
async function control(d, method, params) {
  const socket = net.connect(d.controlSocket);
  let text = '';

  socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`);
  for await (const piece of socket) {
    text += piece;
    if (text.includes('\n'))
      break;
  }
  return JSON.parse(text);
}

const GOOD = { url: 'https://hooks.example/a', secret: secretOf() };
const bytes = (n) => `whsec_${Buffer.alloc(n, 7).toString('base64')}`;
// [list, what is called, reason, field]
const BAD = [
  [[1, 2, 3, 4, 5].map((n) => ({ ...GOOD, url: `https://hooks.example/${n}` })), 'WEBHOOKS_TOO_MANY', ''],
  [['x'], 'PARAM_INVALID', '[0].'],
  [[{ secret: GOOD.secret }], 'FIELD_MISSING', '[0].url'],
  [[{ url: GOOD.url }], 'FIELD_MISSING', '[0].secret'],
  [[{ ...GOOD, colour: 'red' }], 'PARAM_UNSUPPORTED', '[0].colour'],
  [[{ ...GOOD, url: 'hooks.example' }], 'WEBHOOK_URL_INVALID', '[0].url'],
  [[{ ...GOOD, url: 'ftp://hooks.example/' }], 'WEBHOOK_URL_INVALID', '[0].url'],
  [[{ ...GOOD, url: 'https://user@hooks.example/' }], 'WEBHOOK_URL_INVALID', '[0].url'],
  [[{ ...GOOD, url: 'https://hooks.example\\@10.0.0.1/' }], 'WEBHOOK_URL_INVALID', '[0].url'],
  [[GOOD, { ...GOOD, url: 'http://hooks.example/' }], 'WEBHOOK_URL_REFUSED', '[1].url'],
  [[{ ...GOOD, url: 'https://10.0.0.1/' }], 'WEBHOOK_URL_REFUSED', '[0].url'],
  [[{ ...GOOD, url: 'https://localhost/' }], 'WEBHOOK_URL_REFUSED', '[0].url'],
  [[{ ...GOOD, url: 'https://[::ffff:127.0.0.1]/' }], 'WEBHOOK_URL_REFUSED', '[0].url'],
  [[{ ...GOOD, url: 'https://169.254.169.254/' }], 'WEBHOOK_URL_REFUSED', '[0].url'],
  ...['2130706433', '0x7f.1', '0x7f000001', '127.1', '0177.0.0.1', '127.0.0.1.'].map((host) => [[{ ...GOOD, url: `https://${host}/` }], 'WEBHOOK_URL_REFUSED', '[0].url']),
  [[{ ...GOOD, secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }], 'WEBHOOK_SECRET_INVALID', '[0].secret'],
  [[{ ...GOOD, secret: 'whsec_not*base64' }], 'WEBHOOK_SECRET_INVALID', '[0].secret'],
  [[{ ...GOOD, secret: bytes(23) }], 'WEBHOOK_SECRET_INVALID', '[0].secret'],
  [[{ ...GOOD, secret: bytes(65) }], 'WEBHOOK_SECRET_INVALID', '[0].secret'],
  [[{ ...GOOD, secret: Array(5).fill(bytes(24)).join(' ') }], 'WEBHOOK_SECRET_INVALID', '[0].secret'],
  [[{ ...GOOD, events: ['turn.begun'] }], 'WEBHOOK_EVENT_UNKNOWN', '[0].events'],
  [[{ ...GOOD, events: [] }], 'WEBHOOK_EVENT_UNKNOWN', '[0].events'],
  [[{ ...GOOD, id: 'a b' }], 'WEBHOOK_ID_INVALID', '[0].id'],
  [[GOOD, GOOD], 'WEBHOOK_DUPLICATE', '[1].url'],
  [[{ ...GOOD, id: 'a' }, { ...GOOD, id: 'a' }], 'WEBHOOK_DUPLICATE', '[1].id'],
];

describe('who is told', { concurrency: true }, () => {
  test('what is wrong in a file keeps the daemon from starting, and is named', async (t) => {
    const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-'));
    const file = path.join(dir, 'hooks.json');
    const check = (args = [], opts) => acpd(['serve', '--check', '--state', path.join(dir, 's'), '--run-dir', path.join(dir, 'r'), '--webhook', file, ...args], opts);

    t.after(() => fs.rmSync(dir, { recursive: true }));
    assert.equal((await check()).code, 0, 'a file may come later');
    writeHooks(file, [1, 2, 3, 4].map((n) => ({ ...GOOD, url: `https://hooks.example/${n}` })));
    assert.equal((await check()).code, 0);
    for (const [list, , field] of BAD) {
      writeHooks(file, list);
      const { code, stderr } = await check();

      assert.equal(code, 2, stderr);
      assert.ok(stderr.includes(`webhook${field}`), `${stderr} names webhook${field}`);
      assert.ok(list.every((h) => !h.secret || !stderr.includes(h.secret)));
    }
    writeHooks(file, [{ ...GOOD, url: 'http://10.0.0.1:8080/' }]);
    assert.equal((await check(['--upstream-allow', '10.0.0.1:8080'])).code, 0);
    fs.chmodSync(file, 0o644);
    assert.match((await check()).stderr, /unreadable for others/);
    fs.writeFileSync(file, '[{]');
    fs.chmodSync(file, 0o600);
    assert.match((await check()).stderr, /line 1, column/);
    fs.rmSync(file);
    const without = await check([], { env: { ACPD_FETCH: path.join(dir, 'nothing') } });
    assert.deepEqual([without.code, /acpd-fetch/.test(without.stderr)], [2, true]);
    assert.match((await check(['--webhook-keep', '1d,1k'])).stderr, /--webhook-keep/);
  });

  test('a claim names them; one that is refused claims nothing', async (t) => {
    const r = await Receiver.start(t);
    const d = await Daemon.startFor(t, { token: null, flags: { upstreamAllow: r.host } });
    const file = path.join(d.dir, 'hooks.json');
    const token = `token-${crypto.randomBytes(12).toString('hex')}`;
    const claim = (list, args = []) => {
      writeHooks(file, list);
      return acpd(['claim', '--run-dir', d.runDir, '--webhook', file, ...args], { input: token });
    };

    for (const [webhooks, reason, field] of BAD) {
      const { error } = await control(d, 'claim', { digest: `sha256:${crypto.createHash('sha256').update(token).digest('hex')}`, webhooks });

      assert.deepEqual([error.data.reason, error.data.field], [reason, `webhooks${field}`], error.message);
    }
    assert.equal((await d.http('/ready')).status, 503);
    assert.deepEqual(spoolOf(d), []);
    for (let i = 0; i < 2; i++)
      assert.equal((await claim([r.config()], ['--set', 'webhook-keep=1d'])).code, 0, 'the same claim again');
    assert.match((await claim([r.config({ secret: secretOf() })], ['--set', 'webhook-keep=1d'])).stderr, /other settings/);
    d.token = token;
    const c = await d.client();
    const { sessionId } = await c.newSession();
    await turns(c, sessionId, 2);
    assertOrder(await r.until(2));
    await d.stop();
  });

  test('where the daemon was started with a file, a claim brings none', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r], { token: null });
    const { code, stderr } = await acpd(['claim', '--run-dir', d.runDir, '--webhook', d.hooksFile], { input: 'token-0123456789abcdef' });

    assert.deepEqual([code, /--webhook/.test(stderr)], [3, true], stderr);
    d.token = await claimed(d);
    const c = await d.client();
    const { sessionId } = await c.newSession();
    await turns(c, sessionId, 1);
    await r.until(1);
    await d.stop();
  });

  test('a file that is written again names others; one that is wrong changes nothing', async (t) => {
    const [a, b] = [await Receiver.start(t), await Receiver.start(t)];
    const d = await told(t, [a, b], { hooks: [a.config()] });
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await turns(c, sessionId, 1);
    await a.until(1);
    writeHooks(d.hooksFile, [b.config({ url: 'ftp://x/' })]);
    await d.waitLog((l) => l.msg === 'the file of webhooks is not taken');
    process.kill(d.pid, 'SIGHUP');
    await until(() => d.logs.filter((l) => l.msg === 'the file of webhooks is not taken').length > 1, 'it was read again');
    await turns(c, sessionId, 1);
    await a.until(2);
    writeHooks(d.hooksFile, [b.config({ id: 'b' })]);
    await until(async () => (await statusOf(d)).some((s) => s.id === 'b'), 'b is named');
    await turns(c, sessionId, 1);
    assertOrder(await b.until(1), 3);
    assert.equal(a.taken.length, 2);
    assert.equal((await statusOf(d)).length, 1);
    assert.equal(spoolOf(d).length, 1);
    await d.stop();
  });

  test('a copy of the sandbox has neither receivers nor what waited; the one who claims it names his own', async (t) => {
    const [r, mine] = [await Receiver.start(t), await Receiver.start(t)];
    const d = await sandboxed(t, 'i-parent', { token: null, flags: { upstreamAllow: `${r.host},${mine.host}` } });
    const file = path.join(d.dir, 'hooks.json');
    const claim = async (hooks) => {
      writeHooks(file, hooks);
      d.token = `token-${crypto.randomBytes(12).toString('hex')}`;
      assert.equal((await acpd(['claim', '--run-dir', d.runDir, '--webhook', file], { input: d.token })).code, 0);
      return d.client();
    };
    const c = await claim([r.config({ id: 'same' })]);
    const { sessionId } = await c.newSession();

    await turns(c, sessionId, 1);
    await r.until(1);
    assert.equal(r.taken[0].data.sandboxId, 'i-parent');
    r.behave = () => 500;
    await turns(c, sessionId, 2);
    assert.ok(spoolOf(d).some((f) => fs.readFileSync(f, 'utf8').includes('"turn":3')));
    d.become('i-child');
    await resumed(d);
    assert.deepEqual(spoolOf(d), [], 'what waited is the other\'s');
    const c2 = await claim([mine.config({ id: 'same' })]);
    const { sessionId: own } = await c2.newSession();
    await turns(c2, own, 1);
    await mine.until(1);
    assert.deepEqual(mine.taken.map((m) => [m.data.sessionId, m.data.sandboxId, m.data.number]), [[own, 'i-child', 1]]);
    assert.equal(r.taken.length, 1);
    await d.stop();
  });
});

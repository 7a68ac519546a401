// SPDX-License-Identifier: Apache-2.0
// State on disk that is not as it was written: the daemon starts, sets aside what it cannot use, and says so in the
// log, in /ready and to doctor; state of a later version is refused, and nothing of it is touched.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { test, describe } from 'node:test';
import { ACPD, Daemon, ROOT } from '../../lib/daemon.mjs';
import { patience } from '../../lib/rawws.mjs';
import { namesBelow } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { acpdSync } from '../run.mjs';

const ledgerOf = (d) => path.join(d.stateDir, 'usage.jsonl');
const linesOf = (file) => fs.readFileSync(file, 'utf8').trimEnd().split('\n');
const digest = (line) => crypto.createHash('sha256').update(line).digest('hex');
const verify = (file, ...more) => acpdSync(['usage', 'verify', '--file', file, ...more]);

async function problems(d) {
  return JSON.parse((await d.http('/ready', { token: d.token })).body).problems;
}

const doctor = (d) => acpdSync(['doctor', '--run-dir', d.runDir]);

// Some turns, then a daemon that is gone, then what is done to its state, then the next daemon.
async function afterwards(damage, use) {
  const d = await Daemon.start();

  try {
    const c = await d.client();
    const { sessionId } = await c.newSession();

    for (let i = 0; i < 3; i++)
      await c.prompt(sessionId, `hello ${i}`);
    await d.kill9();
    damage(d, sessionId);
    await d.restart();
    await use(d, sessionId);
    await d.stop({ logs: false });
  } finally {
    await d.discard();
  }
}

test('a session with tool calls, well and failed, is read as it was by the next daemon after a kill', async (t) => {
  const d = await Daemon.startFor(t, { stub: { args: ['--resume'], capabilities: { loadSession: true } } });
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const shown = (to) => to.updates.map((u) => u.update).filter((u) => /^tool_call/.test(u.sessionUpdate)).map((u) => [u.toolCallId, u.status]);

  await c.prompt(sessionId, 'write good.txt x');
  await c.startPrompt(sessionId, 'write none/such x').answer;
  const before = shown(c);
  await d.kill9();
  await d.restart();
  const again = await d.client();

  await again.load(sessionId);
  assert.ok(before.length >= 4 && before.some(([, status]) => status === 'failed'), JSON.stringify(before));
  assert.deepEqual(shown(again), before);
  await d.stop();
});

describe('a ledger that is not whole', () => {
  for (const [what, garbage] of [['an object that is no record', '{}\n'], ['garbage', 'no record at all\n'], ['half of it', 'no end']])
    test(`${what} at its end: set aside and said, and the ledger goes on`, () => afterwards((d) => {
      fs.appendFileSync(ledgerOf(d), garbage);
    }, async (d, id) => {
      const before = linesOf(ledgerOf(d));
      const [first] = await problems(d);

      assert.equal(first.what, 'ledger');
      assert.match(first.text, /set aside in .*usage\.jsonl\.aside$/);
      assert.equal(fs.readFileSync(`${ledgerOf(d)}.aside`, 'utf8'), garbage);
      assert.match(doctor(d).stdout, /^FAIL state ledger .*set aside/m);
      const c = await d.client();
      await c.call('session/load', { sessionId: id, cwd: d.workDir, mcpServers: [] });
      await c.prompt(id, 'on');
      assert.equal(JSON.parse(linesOf(ledgerOf(d)).at(-1)).n, JSON.parse(before.at(-1)).n + 1);
      assert.equal(verify(ledgerOf(d)).status, 0);
      await c.close();
    }));

  test('nothing but garbage: the whole file is set aside, another is begun', () => afterwards((d) => {
    fs.writeFileSync(ledgerOf(d), 'one line of garbage\n');
  }, async (d) => {
    assert.match((await problems(d))[0].text, /no usage ledger/);
    const aside = fs.readdirSync(d.stateDir).filter((n) => n.startsWith('usage.jsonl.aside-'));
    assert.equal(fs.readFileSync(path.join(d.stateDir, aside[0]), 'utf8'), 'one line of garbage\n');
  }));

  test('a changed line in its middle: the daemon finds it by itself', () => afterwards((d) => {
    const lines = linesOf(ledgerOf(d));

    fs.writeFileSync(ledgerOf(d), lines.with(0, lines[0].replace('"end_turn"', '"cancelled"')).map((l) => `${l}\n`).join(''));
  }, async (d) => {
    await until(async () => (await problems(d)).some((p) => /line 2: prevDigest/.test(p.text)), 'it says so');
  }));
});

describe('verify', () => {
  test('an anchor shows a changed last line, a cut end and where a ledger begins', () => afterwards(() => {}, async (d) => {
    const file = path.join(d.dir, 'copy.jsonl');
    const lines = linesOf(ledgerOf(d));
    const last = JSON.parse(lines.at(-1));
    const anchor = ['--from', `${last.n}:${digest(lines.at(-1))}`];
    const put = (list) => fs.writeFileSync(file, list.map((l) => `${l}\n`).join(''));

    put(lines);
    const whole = verify(file, ...anchor);
    assert.equal(whole.status, 0, whole.stderr);
    const { last: n, digest: sum } = JSON.parse(verify(file, ...anchor, '--json').stdout);
    assert.deepEqual([n, sum], [last.n, digest(lines.at(-1))]);
    put(lines.with(-1, lines.at(-1).replace(/"tsEnd":"[^"]*"/, '"tsEnd":"2020-01-01T00:00:00.000Z"')));
    assert.match(verify(file, ...anchor).stderr, /its digest is not the anchor's/);
    put(lines.slice(0, -1));
    assert.match(verify(file, ...anchor).stderr, new RegExp(`record ${last.n} is missing`));
    put(lines.slice(1));
    assert.equal(verify(file).status, 1);
    assert.equal(verify(file, '--from', `1:${digest(lines[0])}`).status, 0);
    assert.equal(verify(file, '--from', `1:${digest(lines[1])}`).status, 1);
    for (const bad of ['', '1', '0:' + 'a'.repeat(64), '1:' + 'A'.repeat(64), '1:ab', ' 1:' + 'a'.repeat(64)])
      assert.equal(verify(file, '--from', bad).status, 2, bad);
  }));

  test('a turn twice and wrong sums are named, in a chain that is whole', () => afterwards(() => {}, async (d) => {
    const file = path.join(d.dir, 'copy.jsonl');
    const records = linesOf(ledgerOf(d)).map((l) => JSON.parse(l));
    const rechain = (list) => {
      let prev = null;

      return fs.writeFileSync(file, list.map((r, i) => {
        const line = JSON.stringify({ ...r, n: i + 1, prevDigest: prev });
        prev = digest(line);
        return `${line}\n`;
      }).join(''));
    };

    const turns = records.filter((r) => r.type === 'turn');
    rechain(turns);
    assert.equal(verify(file).status, 0);
    rechain([...turns, turns.at(-1)]);
    assert.match(verify(file).stderr, /line 4: turn 3 of session .* is recorded twice/);
    rechain(turns.with(1, { ...turns[1], usage: { ...turns[1].usage, outputTokens: 1e6 } }));
    assert.match(verify(file).stderr, /line 2: cumulative is not the sum of the turns: tokens/);
    rechain(turns.with(2, { ...turns[2], cumulative: { ...turns[2].cumulative, turns: 1 } }));
    assert.match(verify(file).stderr, /line 3: cumulative\.turns is 1, and was 2 before/);
  }));
});

test('a state directory of a later version is refused, and nothing of it is changed', () => afterwards(() => {}, async (d) => {
  await d.stop({ keep: true });
  const look = () => namesBelow(d.stateDir).sort()
    .map((n) => [n, fs.statSync(path.join(d.stateDir, n)).mtimeMs]);

  assert.equal(fs.readFileSync(path.join(d.stateDir, 'version'), 'utf8'), '1\n');
  for (const version of ['2\n', '99\n', 'x\n', '']) {
    fs.writeFileSync(path.join(d.stateDir, 'version'), version);
    const before = look();
    const { status, stderr } = spawnSync(ACPD, ['serve', '--state', d.stateDir, '--run-dir', d.runDir, '--listen', '127.0.0.1:0'],
                                         { encoding: 'utf8', timeout: patience(10000) });

    assert.equal(status, 1);
    assert.match(stderr, /is of version .* knows versions up to 1/);
    assert.deepEqual(look(), before);
  }
  fs.writeFileSync(path.join(d.stateDir, 'version'), '1\n');
  await d.restart();
}));

// Recorded from the first version: two sessions with turns, one of them closed, and one whose turn was open when the daemon was killed.
describe('state of the first version', () => {
  const [KEPT, CLOSED, OPEN] = ['sess_2412822d9bf388ad840b2bfc0b25e88e', 'sess_f1e89852c5eff0387b9fd69e48be5b4f',
                                'sess_728d044863463fb4c13dad9366871a82'];

  test('is opened: sessions, their history, artifacts, keys and usage are there, and all goes on', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-test-'));

    fs.cpSync(path.join(ROOT, 'tests/fixtures/state-1'), path.join(dir, 'state'), { recursive: true });
    const d = await Daemon.start({ dir });

    try {
      const c = await d.client();
      const { sessions } = await c.call('session/list');

      assert.deepEqual(sessions.map((s) => s.sessionId).sort(), [KEPT, CLOSED, OPEN].sort());
      assert.deepEqual(await problems(d), []);
      for (const id of [KEPT, CLOSED, OPEN])
        await c.call('session/load', { sessionId: id, cwd: '/tmp', mcpServers: [] });
      const texts = c.messages.filter((m) => m.params?.sessionId === KEPT && m.method === 'session/update')
        .map((m) => m.params.update).filter((u) => u.sessionUpdate === 'user_message_chunk').map((u) => u.content.text);
      assert.deepEqual(texts, ['hello', 'again']);
      const ends = c.messages.filter((m) => m.method === '_acpd/turn_end');
      assert.deepEqual(ends.map((m) => m.params.stopReason ?? m.params.error.class).sort(),
                       ['end_turn', 'end_turn', 'end_turn', 'shutdown']);
      const old = linesOf(ledgerOf(d)).map((l) => JSON.parse(l))[0].incarnation;
      const other = await d.client();
      await other.call('session/load', { sessionId: CLOSED, cwd: '/tmp', mcpServers: [], _meta: { acpd: { fromSeq: 2, incarnation: old } } });
      const gap = other.notifications.find((m) => m.method === '_acpd/gap').params;
      assert.deepEqual([gap.from, gap.reason], [1, 'incarnation'], 'that version did not write down when it began');
      await other.close();
      await c.load(CLOSED, { cwd: '/tmp' });
      const again = await c.call('session/prompt', { sessionId: KEPT, prompt: [{ type: 'text', text: 'x' }], _meta: { acpd: { key: 'job-1' } } });
      assert.equal(again._meta.acpd.turn, 2);
      const { artifacts } = await c.call('_acpd/artifact/list', { sessionId: KEPT });
      assert.equal((await c.call('_acpd/artifact/get', { sessionId: KEPT, id: artifacts[0].id })).text, 'kept');
      await c.prompt(CLOSED, 'on');
      const { records } = await c.call('_acpd/usage', {});
      assert.deepEqual(records.map((r) => r.n), [1, 2, 3, 4, 5]);
      assert.equal(verify(ledgerOf(d)).status, 0);
      assert.equal(fs.readFileSync(path.join(d.stateDir, 'version'), 'utf8'), '1\n');
      await c.close();
      await d.stop();
    } finally {
      await d.discard();
      fs.rmSync(dir, { recursive: true, force: true });
    }
  });
});

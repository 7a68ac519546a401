// SPDX-License-Identifier: Apache-2.0
// The journal of a session: what was said is on disk, whole and checkable, and nothing that must not be;
// a journal that cannot be written fails turns, never the daemon, and loses nothing in silence.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync, spawnSync } from 'node:child_process';
import { test, describe, before, after } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { onSmallDisk } from '../../lib/disk.mjs';
import { SLOW, sleep } from '../../lib/rawws.mjs';
import { cmdline } from '../../lib/procs.mjs';
import { filesBelow, textOf } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { Neighbour, Tape, failing } from './rig.mjs';

// CRC-32C (Castagnoli), reflected, as in RFC 3720.
const TABLE = Uint32Array.from({ length: 256 }, (_, i) => {
  let c = i;

  for (let k = 0; k < 8; k++)
    c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1;
  return c >>> 0;
});

function crc32c(bytes) {
  let c = 0xffffffff;

  for (const b of bytes)
    c = TABLE[(c ^ b) & 255] ^ (c >>> 8);
  return ((c ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0');
}

const fileOf = (d, sessionId) => path.join(d.stateDir, 'sessions', `${sessionId}.jsonl`);

// The records of a journal, each checked to its last byte.
function journal(d, sessionId) {
  const bytes = fs.readFileSync(fileOf(d, sessionId));
  const records = [];
  let from = 0;

  assert.equal(bytes.at(-1), 10, 'ends in a whole line');
  for (let nl = bytes.indexOf(10); nl >= 0; nl = bytes.indexOf(10, from)) {
    const line = bytes.subarray(from, nl);
    const at = line.lastIndexOf(',"crc":"');
    const record = JSON.parse(line.toString());

    assert.equal(Object.keys(record).at(-1), 'crc', 'crc is the last member');
    assert.equal(line.subarray(at).toString(), `,"crc":"${record.crc}"}`);
    assert.equal(record.crc, crc32c(line.subarray(0, at)), `crc of line ${records.length + 1}`);
    assert.equal(Buffer.from(line.toString()).compare(line), 0, 'valid UTF-8');
    records.push(record);
    from = nl + 1;
  }
  return records;
}

function checkNumbers(records) {
  const events = records.filter((r) => r.n > 0);

  assert.deepEqual(events.map((r) => r.n), events.map((_, i) => i + 1), '1..N without holes');
  for (let i = 1; i < records.length; i++)
    assert.ok(records[i].t >= records[0].t - 1000 && Number.isInteger(records[i].t), 'a time in each');
  return events;
}

assert.equal(crc32c(Buffer.from('123456789')), 'e3069283'); // the check value of the algorithm

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});

after(() => endInOrder(d, c));

describe('what is in it', () => {
  test('each line is JSON with its CRC-32C; events 1..N; exactly what the client was sent', async () => {
    const { sessionId } = await c.newSession();

    c.onPermission('allow');
    await c.prompt(sessionId, 'echo one; think two; tool t1 edit A title; perm t2; plan; usage; title Named');
    await c.prompt(sessionId, 'mode code; echo mode');
    await c.prompt(sessionId, 'echo "quotes" \\\\ back \\n newline é 😀; flood 500 300');
    await failing(c, sessionId, 'echo bad; crash exit 3');
    const request = c.startPrompt(sessionId, 'echo long; sleep 60000');
    await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'long');
    c.cancel(sessionId);
    await request.answer;
    const records = journal(d, sessionId);
    const events = checkNumbers(records);
    const sent = new Map(c.messages
      .filter((m) => m.method && m.params?.sessionId === sessionId && (m.params._meta?.acpd?.seq ?? m.params.seq))
      .map((m) => [m.params._meta?.acpd?.seq ?? m.params.seq, m]));
    let own = 0;
    for (const { n, k, m } of events) {
      if (m.params.update?.sessionUpdate === 'user_message_chunk') {
        assert.ok(!sent.has(n));
        own++;
        continue;
      }
      assert.deepEqual(m, sent.get(n), `event ${n}`);
      if (m.method === '_acpd/event')
        assert.match(k, /^(ask|answer|usage|lifecycle)$/);
      else
        assert.equal(k, m.method === '_acpd/turn_end' ? 'turn_end' : m.params.update.sessionUpdate);
    }
    assert.equal(own, 5);
    assert.ok([...sent.keys()].every((n) => n <= events.length), 'nothing was sent that is not in it');
    const head = records[0];
    assert.equal(head.n, 0);
    assert.equal(head.m.sessionId, sessionId);
    assert.equal(head.m.harness, 'stub');
    assert.equal(head.m.cwd, d.workDir);
  });

  test('is written before a turn is answered', async () => {
    const { sessionId } = await c.newSession();

    for (let i = 1; i <= 30; i++) {
      await c.prompt(sessionId, `echo ${i}`);
      const last = journal(d, sessionId).at(-1);

      assert.equal(last.m.method, '_acpd/turn_end');
      assert.equal(last.m.params.turn, i);
    }
  });

  test('a replay from disk is the replay from memory', async () => {
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'flood 5000 400; echo end'); // far more than stays in memory
    const reader = await d.client({ validate: 100 });
    const tape = new Tape(sessionId, { flood: 5000 });
    tape.attach(reader);
    await reader.load(sessionId);
    const events = checkNumbers(journal(d, sessionId));
    tape.assertWhole();
    assert.equal(tape.events, events.length);
    const sent = reader.messages.filter((m) => m.params?.sessionId === sessionId);
    assert.deepEqual(sent, events.map((e) => e.m));
    await reader.close();
  });

  test('is 0600 in a 0700 folder, survives close, is deleted with the session', async () => {
    const { sessionId } = await c.newSession();
    const file = fileOf(d, sessionId);
    const home = path.join(d.stateDir, 'homes', sessionId);

    await c.prompt(sessionId, 'echo one');
    assert.equal(fs.statSync(file).mode & 0o7777, 0o600);
    assert.equal(fs.statSync(path.dirname(file)).mode & 0o7777, 0o700);
    assert.ok(fs.existsSync(home));
    await c.call('session/close', { sessionId });
    assert.ok(fs.existsSync(file));
    await c.load(sessionId);
    assert.ok(c.chunks(sessionId).includes('one'));
    await c.call('session/delete', { sessionId });
    assert.ok(!fs.existsSync(file) && !fs.existsSync(home), 'nothing is left on disk');
    assert.equal((await c.fails('session/load', { sessionId, cwd: d.workDir, mcpServers: [] })).code, -32002);
  });
});

describe('what must not be in it', () => {
  const secret = (name) => `SECRET-${name}-${'0123456789abcdef'.repeat(2)}`;
  const provider = {
    api: 'openai-chat', baseUrl: 'http://127.0.0.1:9/v1', key: secret('key'), headers: { 'X-Auth': secret('header') },
  };
  const env = { STUB_SECRET: secret('env'), OTHER_SECRET: secret('other') };
  const secrets = [provider.key, provider.headers['X-Auth'], ...Object.values(env)];

  const findIn = (text) => secrets.filter((s) => text.includes(s));

  function nowhere(own, what) {
    for (const file of filesBelow(own.stateDir))
      assert.deepEqual(findIn(textOf(file, 'latin1') ?? ''), [], `${what}: in ${path.basename(file)}`);
    assert.deepEqual(findIn(own.stderr + own.stdout), [], `${what}: in the log`);
    for (const { pid } of [own.child, ...own.ours()])
      assert.deepEqual(findIn(cmdline(pid)), [], `${what}: in argv`); // '' of one that is over
  }

  test('provider key, headers and environment: not in journal, state, log or argv', async (t) => {
    const own = await Daemon.startFor(t, { flags: { log: 'debug' }, stub: { quirks: 'copilot' } });
    const a = await own.client();
    const meta = { provider, env };
    const { sessionId } = await a.newSession({ meta });

    await a.prompt(sessionId, 'echo hello; meta; getparams; clientcaps');
    nowhere(own, 'while it runs');
    // What the harness itself says on stderr before it dies is logged, without them.
    const leak = `stderr the key is ${env.STUB_SECRET} and ${provider.key} indeed`;
    await failing(a, sessionId, `${leak}; sleep 50; crash exit 3`);
    await own.waitLog((l) => l.msg === 'harness ended');
    assert.deepEqual(findIn(own.stderr), [], 'stderr of a harness in the log');
    await a.load(sessionId, { meta });
    await a.prompt(sessionId, 'echo again');
    const bad = await a.fails('session/new', { cwd: own.workDir, mcpServers: [],
      _meta: { acpd: { env: { BAD: secret('env'), WORSE: 7 }, provider } } });
    assert.deepEqual(findIn(JSON.stringify(bad.data) + bad.message), [], 'in an error');
    assert.deepEqual(findIn(own.stderr), [], 'after a refused session');
    await a.call('session/close', { sessionId });
    assert.deepEqual(findIn(fs.readFileSync(fileOf(own, sessionId), 'utf8')
      .split('\n').filter((l) => !l.includes('user_message_chunk')).join('\n')), [], 'in the journal');
    await a.close();
    await own.stop();
  });

  test('what the harness says of them is blacked out in the journal', async (t) => {
    const own = await Daemon.startFor(t);
    const a = await own.client();
    const { sessionId } = await a.newSession({ meta: { env } });

    await a.prompt(sessionId, 'env STUB_SECRET');
    assert.equal(a.chunks(sessionId).length, 1);
    nowhere(own, 'after an echo by the harness');
    await a.close();
    await own.stop();
  });
});

// A daemon that loses its head would fill our memory with its log.
function guard(own, t) {
  const timer = setInterval(() => {
    if (own.stderr.length > 4e6)
      own.child.kill('SIGKILL');
  }, 20);

  t.after(() => {
    clearInterval(timer);
    assert.ok(own.stderr.length < 4e6, `a flood of log lines: ${own.stderr.slice(-400)}`);
  });
}

// The turn fails with class resource; the daemon, this session's history and all else live on.
async function survives(t, own, fill, { heal } = {}) {
  guard(own, t);
  const a = await own.client({ record: false, validate: 50 });
  const calm = await own.client();
  const tape = await Tape.open(a);
  const { sessionId } = tape;

  await a.prompt(sessionId, 'echo before');
  const { error } = await failing(a, sessionId, fill);
  assert.equal(error.code, -32603);
  assert.equal(error.data.turn.class, 'resource', JSON.stringify(error.data));
  await tape.until((x) => x.ends.length === 2);
  assert.equal(tape.ends[1].error.class, 'resource');
  tape.assertWhole('up to the failure');
  assert.equal(tape.missing.length, 2, 'only the own prompts are missing');
  const next = await failing(a, sessionId, 'echo more');
  assert.equal(next.error.data.turn.class, 'resource', 'as long as it lasts, each turn says so');
  // Large prompts push what is only in memory out of it.
  for (let i = 0; i < 4; i++)
    await failing(a, sessionId, `echo ${'x'.repeat(200000)}`);
  const reader = await own.client({ record: false, validate: 50 });
  const whole = new Tape(sessionId);
  whole.attach(reader);
  await reader.load(sessionId);
  const delivered = whole.events + whole.gaps.reduce((n, g) => n + g.to - g.from + 1, 0);
  assert.equal(delivered, tape.last, 'the replay has all of it, or says what it has not');
  assert.deepEqual(whole.missing, []);
  assert.deepEqual(whole.faults, []);
  const cpu = own.cpu();
  await sleep(500);
  assert.ok(own.cpu() - cpu < 0.25 * SLOW, `the daemon spins: ${own.cpu() - cpu} s of CPU in 0.5 s`);
  await heal?.();
  const neighbour = await Neighbour.start(calm);
  await neighbour.during(() => sleep(100));
  await neighbour.stop();
  await reader.call('session/delete', { sessionId });
  assert.ok(!fs.existsSync(fileOf(own, sessionId)));
  calm.assertClean();
  for (const client of [a, reader, calm])
    await client.close();
}

describe('a journal that cannot be written', () => {
  test('--journal-max reached: class resource, nothing lost, others go on', async (t) => {
    const own = await Daemon.startFor(t, { flags: { journalMax: 1000000 } });

    await survives(t, own, 'flood 20000 200; echo end');
    await own.stop();
  });

  test('--journal-max reached by one large event', async (t) => {
    const own = await Daemon.startFor(t, { flags: { journalMax: 1000000 } });

    await survives(t, own, 'hugeline 3000000; echo end');
    await own.stop();
  });

  test('a file size limit (RLIMIT_FSIZE): class resource, the daemon lives', async (t) => {
    if (spawnSync('prlimit', ['--version']).error)
      return t.skip('no prlimit here');
    const own = await Daemon.startFor(t);

    execFileSync('prlimit', ['--pid', String(own.pid), '--fsize=1000000:unlimited']);
    await survives(t, own, 'flood 20000 200; echo end', {
      heal: () => execFileSync('prlimit', ['--pid', String(own.pid), '--fsize=unlimited:unlimited']),
    });
    await own.stop();
  });

  test('a full disk: class resource; space makes new sessions work', async (t) => {
    const { d: own, fill, empty } = await onSmallDisk(t, '2m');

    if (!own)
      return;
    fill(1200000);
    await survives(t, own, 'flood 20000 200; echo end', { heal: empty });
    await own.stop();
  });

  test('no room for a new session: typed refusal, and room heals it', async (t) => {
    const own = await Daemon.startFor(t);
    const a = await own.client();
    const dir = path.join(own.stateDir, 'sessions');

    fs.renameSync(dir, `${dir}.away`);
    const error = await a.fails('session/new', { cwd: own.workDir, mcpServers: [] });
    assert.equal(error.code, -32603);
    assert.equal(error.data.reason, 'STATE_NOT_WRITABLE');
    assert.deepEqual(fs.readdirSync(path.join(own.stateDir, 'homes')), [], 'no home is left');
    fs.renameSync(`${dir}.away`, dir);
    const { sessionId } = await a.newSession();
    assert.equal((await a.prompt(sessionId, 'echo works')).stopReason, 'end_turn');
    await until(() => own.descendants().length === 1, 'one harness');
    await a.close();
    await own.stop();
  });
});

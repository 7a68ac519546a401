// SPDX-License-Identifier: Apache-2.0
// The usage ledger over several files: one chain for every reader, whatever dies meanwhile; and the removal of files that clients have read.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, describe } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { onSmallDisk } from '../../lib/disk.mjs';
import { until } from '../../lib/wait.mjs';
import { acpd } from '../run.mjs';

const FILE_MAX = 4096;

// Names of the closed files sort in their order, and before the one that is written to.
const filesOf = (state) => fs.readdirSync(state).filter((name) => /^usage(-\d{19})?\.jsonl$/.test(name)).sort();
const linesOf = (state) => filesOf(state).flatMap((name) => fs.readFileSync(path.join(state, name), 'utf8').split('\n').filter(Boolean));
const numbersOf = (lines) => lines.map((line) => JSON.parse(line).n);
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const verify = (...args) => acpd(['usage', 'verify', ...args], { timeout: 60000 });

async function overHttp(d, query = '') {
  const answer = await d.http(`/v1/usage${query}`, { token: d.token });

  assert.equal(answer.status, 200);
  return { ...answer, lines: answer.body.split('\n').filter(Boolean) };
}

async function overAcp(c, since = 0) {
  const records = [];

  for (;;) {
    const page = await c.call('_acpd/usage', { since });

    records.push(...page.records);
    since = page.last;
    if (!page.more)
      return records;
  }
}

async function prompts(c, sessionId, n, text = 'echo x') {
  for (let i = 0; i < n; i++)
    await c.prompt(sessionId, text);
}

const statusOf = async (c) => (await c.call('_acpd/status', {})).usage;

describe('many files', () => {
  let d;

  after(() => d?.discard());

  test('each reader gets one chain over all files, also after a kill -9', async () => {
    d = await Daemon.start({ flags: { usageFileMax: FILE_MAX } });
    let c = await d.client({ record: false });
    let { sessionId } = await c.newSession();

    await prompts(c, sessionId, 25);
    await d.kill9();
    await d.restart();
    c = await d.client({ record: false });
    ({ sessionId } = await c.newSession());
    await prompts(c, sessionId, 15);

    const lines = linesOf(d.stateDir);
    assert.ok(filesOf(d.stateDir).length >= 4, filesOf(d.stateDir).join());
    for (const name of filesOf(d.stateDir)) {
      const { size, mode } = fs.statSync(path.join(d.stateDir, name));

      assert.ok(size <= FILE_MAX && (mode & 0o777) === 0o600, name);
    }
    assert.deepEqual(numbersOf(lines), range(1, 40));
    assert.deepEqual((await overHttp(d)).lines, lines);
    assert.deepEqual((await overAcp(c)).map((r) => JSON.stringify(r)), lines);
    for (const since of [0, 1, 9, 20, 39, 40]) {
      assert.deepEqual((await overHttp(d, `?since=${since}`)).lines, lines.slice(since), `since ${since}`);
      assert.deepEqual((await overAcp(c, since)).map((r) => r.n), range(since + 1, 40));
    }
    assert.deepEqual((await overHttp(d, `?session=${sessionId}`)).lines, lines.slice(25));
    assert.equal((await statusOf(c)).files, filesOf(d.stateDir).length);
    await c.close();
    await d.stop({ logs: false, keep: true });

    const whole = lines.map((line) => `${line}\n`).join('');
    const one = filesOf(d.stateDir).flatMap((name) => ['--file', path.join(d.stateDir, name)]);
    assert.equal((await acpd(['usage', '--state', d.stateDir])).stdout, whole);
    for (const args of [['--state', d.stateDir], ['--file', d.stateDir], one])
      assert.deepEqual(await verify(...args), { code: 0, signal: null, stdout: 'ok: 40 records, 2 incarnations\n', stderr: '' }, args.join(' '));
    assert.equal((await acpd(['usage', ...one, '--since', '30'])).stdout, lines.slice(30).map((line) => `${line}\n`).join(''));
  });

  test('verify names the file and its line; a file that is missing or in the wrong place is found', async () => {
    const names = filesOf(d.stateDir);
    const paths = names.map((name) => path.join(d.stateDir, name));
    const each = (list) => list.flatMap((file) => ['--file', file]);
    const text = fs.readFileSync(paths[1], 'utf8');

    fs.writeFileSync(paths[1], text.replace('"type":"turn"', '"type":"TURN"'));
    const { code, stderr } = await verify('--state', d.stateDir);
    assert.equal(code, 1);
    assert.ok(stderr.startsWith(`acpd: ${paths[1]}: line 2: `), stderr);
    fs.writeFileSync(paths[1], text);
    assert.equal((await verify('--state', d.stateDir)).code, 0);
    for (const list of [paths.toSpliced(1, 1), paths.toReversed(), paths.slice(1), [paths[0], ...paths]])
      assert.equal((await verify(...each(list))).code, 1, list.join());
  });
});

describe('what was read may go', () => {
  test('with --keep-usage, oldest first, as far as a client has read: counted, logged, anchored, also after a restart', async (t) => {
    const d = await Daemon.startFor(t, { flags: { usageFileMax: FILE_MAX, keepUsage: ',1' } });
    let c = await d.client({ record: false });
    const { sessionId } = await c.newSession();
    await prompts(c, sessionId, 30);
    const names = filesOf(d.stateDir);
    const firsts = names.slice(0, -1).map((name) => Number(name.match(/\d{19}/)[0]));
    const third = firsts[2];

    assert.equal(firsts[0], 1, 'nothing goes that nobody has read');
    assert.deepEqual((await overHttp(d, `?session=${sessionId}`)).lines.length, 30);
    assert.deepEqual((await overAcp(c)).length, 30);
    assert.equal((await statusOf(c)).read, 0, 'handed out, and nobody has said yet that it arrived');
    const head = await d.http(`/v1/usage?since=${third - 1}`, { token: d.token, method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal((await statusOf(c)).read, 0);
    await c.call('_acpd/usage', { since: third - 1 });
    const usage = await until(async () => {
      const status = await statusOf(c);

      return status.removedFiles === 2 && status;
    }, 'two files are gone', 60000);
    assert.deepEqual(usage, { first: third, last: 30, read: third - 1, files: names.length - 2, bytes: usage.bytes,
      removedFiles: 2, removedRecords: third - 1 });
    assert.deepEqual(filesOf(d.stateDir), names.slice(2));
    const { lines, headers } = await overHttp(d);
    assert.deepEqual(numbersOf(lines), range(third, 30));
    assert.deepEqual([headers['acpd-first'], headers['acpd-last']], [String(third), '30']);
    const page = await c.call('_acpd/usage', { since: 0 });
    assert.deepEqual([page.first, page.records.length], [third, 31 - third]);
    const { body } = await d.http('/metrics', { token: d.token });
    assert.match(body, /^acpd_usage_files_removed_total 2$/m);
    assert.match(body, new RegExp(`^acpd_usage_records_unread ${31 - third}$`, 'm'));
    assert.equal(d.stderr.split('\n').filter((line) => line.includes('records that were read are removed')).length, 2);
    assert.deepEqual((await verify('--state', d.stateDir)).stdout, `ok: ${31 - third} records, 1 incarnations, from record ${third}, anchored\n`);
    const json = JSON.parse((await verify('--state', d.stateDir, '--json')).stdout);
    assert.deepEqual([json.ok, json.anchored, json.first, json.last], [true, true, third, 30]);

    await d.kill9();
    await d.restart();
    c = await d.client({ record: false });
    assert.deepEqual([(await statusOf(c)).read, (await statusOf(c)).first], [third - 1, third], 'the mark has survived');
    const again = await c.newSession();
    await prompts(c, again.sessionId, 1);
    assert.deepEqual(numbersOf((await overHttp(d)).lines), range(third, 31));
    await overHttp(d, '?since=31');
    await until(async () => filesOf(d.stateDir).length === 1, 'all closed files are gone', 60000);
    assert.equal((await verify('--state', d.stateDir)).code, 0);
    await c.close();
    await d.stop({ logs: false });
  });

  test('on a full disk, without an option: what was read makes room for sessions, and what was not stays', async (t) => {
    const { d, fill } = await onSmallDisk(t, '4m');

    if (!d)
      return;
    const state = d.stateDir;
    const c = await d.client({ record: false });
    const { sessionId } = await c.newSession();
    const wide = Array.from({ length: 40 }, (_, k) =>
      `update ${JSON.stringify({ sessionUpdate: 'tool_call', toolCallId: `t${k}`, title: 't', name: `${k}-${'x'.repeat(400)}` })}`).join(';');
    const room = () => c.newSession().then(() => true, (e) => {
      assert.match(`${e.message} ${JSON.stringify(e.data)}`, /NO_SPACE/);
      return false;
    });

    await prompts(c, sessionId, 30, wide);
    assert.ok(fs.statSync(path.join(state, 'usage.jsonl')).size > 400000);
    fill();
    for (let i = 0; i < 5; i++)
      assert.equal(await room(), false);
    assert.deepEqual([(await statusOf(c)).removedFiles, linesOf(state).length], [0, 30], 'nobody has read it');
    assert.equal((await overAcp(c)).length, 30);
    await overAcp(c, 30);
    await until(room, 'there is room again', 60000);
    const { removedFiles, read } = await statusOf(c);
    assert.deepEqual([removedFiles, read], [1, 30]);
    await prompts(c, sessionId, 1);
    assert.deepEqual(numbersOf(linesOf(state)), [31]);
    assert.equal((await verify('--state', state)).stdout, 'ok: 1 records, 1 incarnations, from record 31, anchored\n');
    await c.close();
    await d.stop({ logs: false });
  });
});

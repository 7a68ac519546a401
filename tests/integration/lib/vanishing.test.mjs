// SPDX-License-Identifier: Apache-2.0
// The tests' own readers of what goes between two looks: what is gone is absent, what is wrong is thrown, and who waits for either sees it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { describe, test } from 'node:test';
import * as procs from '../../lib/procs.mjs';
import { filesBelow, namesBelow, namesIn, textOf, wholeLines } from '../../lib/vanishing.mjs';
import { until, withLimit } from '../../lib/wait.mjs';

const isRoot = process.getuid() === 0;
const LOOKS = [(pid) => procs.text(pid, 'environ') || undefined, (pid) => procs.link(pid, 'exe'), (pid) => procs.bytes(pid, 'maps')?.toString() || undefined,
  (pid) => procs.descriptors(pid)[0], (pid) => procs.descriptorInfo(pid)[0], (pid) => procs.link(pid, 'ns/net'), (pid) => procs.openMemory(pid)];
const looked = (pid) => LOOKS.map((look) => look(pid));

async function sleeper(t, options) {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore', ...options });

  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child;
}

describe('a process', () => {
  test('that lives is read, and its threads and descriptors are', async (t) => {
    const { pid } = await sleeper(t);

    await until(() => procs.cmdline(pid) === 'sleep\x001000\x00', 'it is the sleeper');
    assert.deepEqual(looked(pid).filter((one) => one === undefined), []);
    assert.equal(procs.status(pid).Name, 'sleep');
    assert.deepEqual([procs.threadStatus(pid).length, procs.threadCount(pid), procs.owner(pid)], [1, 1, process.getuid()]);
    assert.ok(procs.children(process.pid).includes(pid));
  });

  test('that has ended, reaped or not, has nothing, and takes no signal', async (t) => {
    const child = await sleeper(t), shell = spawn('sh', ['-c', 'exec 3<&0; read -r line <&3 & echo $!; exec sleep 1000'], { stdio: ['pipe', 'pipe', 'ignore'] });

    t.after(() => shell.kill('SIGKILL'));
    const zombie = Number(String((await once(shell.stdout, 'data'))[0]));
    await until(() => procs.cmdline(shell.pid) === 'sleep\x001000\x00', 'the shell, which would wait for it, is a sleeper');
    shell.stdin.end('\n');
    await until(() => procs.stat(zombie)?.state === 'Z', 'nobody waits for it');
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const pid of [zombie, child.pid]) {
      assert.deepEqual(looked(pid).filter((one) => one !== undefined), []);
      assert.deepEqual([procs.alive(pid), procs.cmdline(pid), procs.environ(pid), procs.fdCount(pid)], [false, '', {}, 0]);
    }
    assert.equal(procs.signal(child.pid, 'SIGTERM'), false);
  });

  test('that hides what it is, and lives, is an error for who does not look on purpose', { skip: isRoot && 'root sees everything' }, () => {
    assert.throws(() => procs.text(1, 'environ'), { code: 'EACCES' });
    assert.equal(procs.textIfOurs(1, 'environ'), undefined);
  });
});

test('a tree that somebody removes meanwhile is what is left of it; a place that is no directory for us is an error', (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-vanishing-'));

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  fs.mkdirSync(path.join(dir, 'a/b'), { recursive: true });
  fs.writeFileSync(path.join(dir, 'a/b/f'), 'one\ntwo\nthr');
  fs.symlinkSync('nowhere', path.join(dir, 'a/l'));
  assert.deepEqual(namesBelow(dir).sort(), ['a', 'a/b', 'a/b/f', 'a/l']);
  assert.deepEqual(filesBelow(dir), [path.join(dir, 'a/b/f')]);
  assert.deepEqual(wholeLines(path.join(dir, 'a/b/f')), ['one', 'two']);
  assert.deepEqual([namesIn(path.join(dir, 'none')), textOf(path.join(dir, 'none')), namesBelow(path.join(dir, 'a/b/f'))], [[], undefined, []]);
  assert.deepEqual(namesBelow(dir, (e) => (e.name === 'a' && fs.rmSync(path.join(dir, 'a'), { recursive: true }), true)), ['a']);
  assert.throws(() => textOf(dir), { code: 'EISDIR' });
});

test('a condition that looks at what is not there yet holds later; one that is wrong is thrown, and one that never holds says what it saw', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-vanishing-'));
  const file = path.join(dir, 'late');
  let looks = 0;

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  await until(() => {
    if (++looks === 3)
      fs.writeFileSync(file, 'x');
    return fs.readFileSync(file);
  });
  assert.equal(looks, 3);
  await assert.rejects(until(() => fs.readFileSync(dir)), { code: 'EISDIR' });
  await assert.rejects(until(() => assert.equal(1, 2)), assert.AssertionError);
});

test('a limit that strikes too early is tried with twice the time, and the last try is what counts', async () => {
  const tried = [];

  assert.equal(await withLimit(5, (ms) => { tried.push(ms); return ms; }, (ms) => ms < 20), 20);
  assert.equal(await withLimit(1, (ms) => ms, () => true, 3), 4);
  assert.deepEqual(tried, [5, 10, 20]);
});

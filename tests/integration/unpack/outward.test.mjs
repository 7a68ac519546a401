// SPDX-License-Identifier: Apache-2.0
// acpd-unpack pack, snapshot and diff as the daemon runs them: two processes, the session's user, the answers and exit codes, kills.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { alive, descendants, signal, status } from '../../lib/procs.mjs';
import { until, withLimit } from '../../lib/wait.mjs';

const UNPACK = path.join(path.dirname(process.env.ACPD), 'acpd-unpack');
const ROOT = process.getuid() === 0;
const USER = 1500; // nobody of this machine
let top, dir;

before(() => {
  top = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-outward-'));
  fs.chmodSync(top, 0o755);
});
after(() => fs.rmSync(top, { recursive: true, force: true }));
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(top, 'case-'));
  fs.chmodSync(dir, 0o755);
  fs.mkdirSync(path.join(dir, 'ws'));
  fs.mkdirSync(path.join(dir, 'state'), { mode: 0o700 });
});

const at = (...names) => path.join(dir, ...names);
const put = (name, text, mode = 0o644) => {
  fs.mkdirSync(path.dirname(at('ws', name)), { recursive: true });
  fs.writeFileSync(at('ws', name), text);
  fs.chmodSync(at('ws', name), mode);
};

// Starts a job; out: where descriptor 3 goes.
function start(verb, job, out = null) {
  const child = spawn(UNPACK, [verb], { stdio: ['pipe', 'pipe', 'pipe', ...(out === null ? [] : [out])] });

  child.stdin.end(`${typeof job === 'string' ? job : JSON.stringify(job)}\n`);
  child.ended = (async () => {
    let stdout = '', stderr = '';

    child.stdout.on('data', (d) => { stdout += d; });
    child.stderr.on('data', (d) => { stderr += d; });
    const [code, signal] = await new Promise((done) => child.on('close', (...r) => done(r)));

    assert.equal(stderr, '');
    return { code, signal, ...(stdout ? JSON.parse(stdout.trimEnd().split('\n').at(-1)) : {}) };
  })();
  return child;
}

const run = (verb, job, out) => start(verb, job, out).ended;

async function done(verb, job, out) {
  const r = await run(verb, job, out);

  assert.equal(r.code, 0, JSON.stringify(r));
  return r.done;
}

const snapshot = (turn, more = {}) => done('snapshot', {
  root: at('ws'), dir: at('state/base'), turn, ...(turn ? { patch: at('state/patch') } : {}), ...more,
});
const diff = (since, more = {}) => done('diff', {
  root: at('ws'), dir: at('state/base'), since, patch: at('state/patch'), ...more,
});
async function pack(format, more = {}) {
  const file = at(`out.${format}`);
  const fd = fs.openSync(file, 'w');

  try {
    return { file, done: await done('pack', { root: at('ws'), format, ...more }, fd) };
  } finally {
    fs.closeSync(fd);
  }
}

// Path to type, mode, whole seconds and content of everything below a directory.
function tree(root, below = '') {
  const all = {};

  for (const name of fs.readdirSync(path.join(root, below)).sort()) {
    const rel = path.join(below, name);
    const s = fs.lstatSync(path.join(root, rel));

    if (s.isSymbolicLink())
      all[rel] = ['l', fs.readlinkSync(path.join(root, rel))];
    else if (s.isDirectory())
      Object.assign(all, { [rel]: ['d', s.mode & 0o777] }, tree(root, rel));
    else
      all[rel] = ['f', s.mode & 0o777, Math.trunc(s.mtimeMs / 1000), fs.readFileSync(path.join(root, rel), 'latin1')];
  }
  return all;
}

function putTree() {
  put('a.txt', 'text\n');
  put('bin/run', '#!/bin/sh\n', 0o755);
  put('bin/data', Buffer.from(Array.from({ length: 70000 }, (_, i) => (i * i) % 251)));
  put('ä/naïve 漢.txt', 'not ASCII\n');
  put('empty', '');
  put(`long/${'n'.repeat(200)}/${'m'.repeat(120)}`, 'a long path\n');
  put('private', 'x\n', 0o600);
  fs.mkdirSync(at('ws/nothing'), { mode: 0o700 });
  fs.symlinkSync('bin/run', at('ws/link'));
  fs.symlinkSync('../a.txt', at('ws/bin/up'));
  fs.utimesSync(at('ws/a.txt'), 1e9, 1e9);
}

for (const format of ['tar', 'tar.gz', 'tar.zst', 'zip'])
  test(`${format}: what comes out goes in again and is the same tree`, async () => {
    putTree();
    const { file, done: report } = await pack(format);

    assert.deepEqual([report.files, report.links, report.skippedTotal, report.changedTotal], [7, 2, 0, 0]);
    assert.equal(report.archiveBytes, fs.statSync(file).size);
    const r = await run('extract', { target: at('again'), sources: [{ archive: file }] });

    assert.equal(r.code, 0, JSON.stringify(r));
    assert.deepEqual(tree(at('again')), tree(at('ws')));
  });

// An archive of ws that leaves the start of its baseline; ws is then what it wrote.
async function seed(format, more = {}) {
  const { file } = await pack(format);

  fs.rmSync(at('ws'), { recursive: true });
  const r = await run('extract', { target: at('ws'), baseline: at('state/base'), sources: [{ archive: file, ...more }] });

  assert.equal(r.code, 0, JSON.stringify(r));
}

for (const format of ['tar', 'tar.gz', 'zip'])
  test(`${format}: a baseline reads nothing that its extraction has written`, async () => {
    putTree();
    put('sub/.gitignore', 'built\n');
    put('sub/built', 'left out\n');
    fs.linkSync(at('ws/a.txt'), at('ws/hard'));
    put('large', Buffer.alloc(17 * 2 ** 20, 'x'));
    await seed(format);
    await sleep(200); // or the links, changed a moment ago, are read by the next snapshot as well
    const first = await snapshot(0, { ignore: 'gitignore' });

    assert.deepEqual([first.files, first.read], [11, 2], 'only the two links');
    assert.deepEqual(first.omitted, [{ path: 'large', reason: 'TOO_LARGE' }]);
    fs.cpSync(at('ws'), at('copy'), { recursive: true, verbatimSymlinks: true });
    put('a.txt', 'TEXT\n');
    put('bin/data', Buffer.alloc(70000, 'y'));
    fs.rmSync(at('ws/private'));
    const turn = await snapshot(1, { ignore: 'gitignore' });

    assert.deepEqual([turn.changed, turn.read], [3, 2]);
    execFileSync('git', ['apply', at('state/patch')], { cwd: at('copy'), env: { GIT_CEILING_DIRECTORIES: dir } });
    assert.equal(fs.readFileSync(at('copy/a.txt'), 'utf8'), 'TEXT\n');
    assert.ok(fs.readFileSync(at('copy/bin/data')).equals(fs.readFileSync(at('ws/bin/data'))));
  });

test('what changes between an extraction and its baseline is in the baseline, whatever its times say', async () => {
  putTree();
  await seed('tar');
  const was = fs.statSync(at('ws/a.txt'));

  fs.writeFileSync(at('ws/a.txt'), 'TEXT\n');
  fs.utimesSync(at('ws/a.txt'), was.atime, was.mtime);
  fs.renameSync(at('ws/private'), at('ws/moved'));
  fs.rmSync(at('ws/empty'));
  fs.chmodSync(at('ws/bin/run'), 0o644);
  put('new', 'new\n');
  const first = await snapshot(0);

  assert.deepEqual([first.files, first.read], [9, 4 + 2]);
  fs.writeFileSync(at('ws/a.txt'), 'text\n');
  await diff(0);
  assert.match(fs.readFileSync(at('state/patch'), 'utf8'), /^-TEXT\n\+text$/m);
  assert.equal((await diff(0)).patch.files, 1);
});

test('a hard link in the place of an earlier file of the archive has the contents of its own file', async () => {
  put('a', 'two\n');
  put('x', 'one\n');
  execFileSync('tar', ['-cf', at('out.tar'), 'x', 'a'], { cwd: at('ws') });
  fs.rmSync(at('ws/x'));
  fs.linkSync(at('ws/a'), at('ws/x'));
  execFileSync('tar', ['-rf', at('out.tar'), 'a', 'x'], { cwd: at('ws') });
  fs.rmSync(at('ws'), { recursive: true });
  await done('extract', { target: at('ws'), baseline: at('state/base'), sources: [{ archive: at('out.tar') }] });
  await snapshot(0);
  fs.rmSync(at('ws/x'));
  put('x', 'three\n');
  assert.equal((await diff(0)).patch.files, 1);
  assert.match(fs.readFileSync(at('state/patch'), 'utf8'), /^-two\n\+three$/m);
});

test('an extraction into a tree that is there leaves nothing, and its baseline reads all', async () => {
  putTree();
  const { file } = await pack('tar');
  const r = await run('extract', { target: at('ws'), baseline: at('state/base'), sources: [{ archive: file }] });

  assert.equal(r.code, 0, JSON.stringify(r));
  assert.ok(!fs.existsSync(at('state/base')));
  const first = await snapshot(0);

  assert.equal(first.read, first.files);
});

test('a turn, and since any of them: patches that git applies', async () => {
  putTree();
  fs.cpSync(at('ws'), at('copy'), { recursive: true, verbatimSymlinks: true });
  assert.deepEqual(await snapshot(0), {
    files: 9, bytes: (await pack('tar')).done.bytes + 'bin/run'.length + '../a.txt'.length, changed: 9, read: 9, omitted: [], omittedTotal: 0,
  });
  put('a.txt', 'other\n');
  const first = await snapshot(1);

  assert.deepEqual([first.changed, first.patch.files, first.patch.insertions, first.patch.deletions], [1, 1, 1, 1]);
  assert.equal(first.patch.bytes, fs.statSync(at('state/patch')).size);
  put('ä/naïve 漢.txt', 'more\n', 0o755);
  fs.rmSync(at('ws/bin'), { recursive: true });
  put('bin', 'a file now\n');
  await snapshot(2);
  const all = await diff(0);

  assert.equal(all.patch.files, 6);
  execFileSync('git', ['apply', '--check', at('state/patch')], { cwd: at('copy'), env: { GIT_CEILING_DIRECTORIES: dir } });
  execFileSync('git', ['apply', at('state/patch')], { cwd: at('copy'), env: { GIT_CEILING_DIRECTORIES: dir } });
  const seen = (t) => Object.entries(t).filter(([, v]) => v[0] !== 'd')
    .map(([k, v]) => (v[0] === 'l' ? [k, ...v] : [k, v[1] & 0o100, v[3]]));

  assert.deepEqual(seen(tree(at('copy'))), seen(tree(at('ws'))));
  assert.equal((await diff(2)).patch.bytes, 0);
});

test('malformed jobs name the member: exit 2', async () => {
  const good = { pack: { root: '/', format: 'tar' }, snapshot: { root: '/', dir: '/', turn: 0 }, diff: { root: '/', dir: '/', since: 0, patch: '/p' } };
  const bad = [
    ['pack', { format: 'cpio' }, 'format'], ['pack', { paths: 'a' }, 'paths'], ['pack', { paths: [1] }, 'paths'],
    ['pack', { ignore: 'all' }, 'ignore'], ['pack', { turn: 1 }, 'turn'], ['pack', { root: undefined }, 'root'],
    ['snapshot', { turn: -1 }, 'turn'], ['snapshot', { turn: 1.5 }, 'turn'], ['snapshot', { uid: -1 }, 'uid'],
    ['snapshot', { limits: { fileBytes: 17 * 1024 * 1024 } }, 'limits.fileBytes'], ['snapshot', { limits: { files: 1 } }, 'limits.files'],
    ['diff', { since: '1' }, 'since'], ['diff', { patch: 1 }, 'patch'], ['diff', { root: undefined }, 'root'],
  ];

  for (const [verb, change, field] of bad) {
    const r = await run(verb, { ...good[verb], ...change }, 'pipe');

    assert.equal(r.code, 2, JSON.stringify([verb, change, r]));
    assert.equal(r.failed.path, field);
  }
  assert.equal((await run('diff', 'no JSON')).code, 2);
  assert.equal((await run('pack', good.pack, null)).code, 2);
});

test('refusals: exit 3 with the reason, and nothing written', async () => {
  put('a/b', 'x\n');
  const fd = fs.openSync(at('out'), 'w');
  const cases = [
    ['pack', { root: at('ws'), format: 'tar', paths: ['a', 'a/c'] }, { reason: 'PATH_NOT_FOUND', path: 'a/c' }],
    ['pack', { root: at('ws'), format: 'tar', paths: ['a/../../state'] }, { reason: 'PATH_INVALID', path: 'a/../../state' }],
    ['diff', { root: at('ws'), dir: at('state/base'), since: 0, patch: at('state/p') }, { reason: 'NO_BASELINE' }],
    ['snapshot', { root: at('ws'), dir: at('state/base'), turn: 1 }, { reason: 'NO_BASELINE' }],
    ['snapshot', { root: at('ws'), dir: at('state/base'), turn: 0, limits: { entries: 1 } }, { reason: 'TOO_MANY_ENTRIES', limit: 1, used: 2 }],
  ];

  for (const [verb, job, want] of cases) {
    const { code, refused } = await run(verb, job, fd);

    assert.equal(code, 3, JSON.stringify([verb, refused]));
    for (const [key, value] of Object.entries(want))
      assert.equal(refused[key], value);
    assert.ok(refused.message);
  }
  fs.closeSync(fd);
  assert.equal(fs.statSync(at('out')).size, 0);
  assert.deepEqual(fs.readdirSync(at('state')), ['base']);
  assert.deepEqual(fs.readdirSync(at('state/base')), ['pack']);
});

test('a tree that is not there fails: exit 1', async () => {
  const r = await run('snapshot', { root: at('none'), dir: at('state/base'), turn: 0 });

  assert.equal(r.code, 1);
  assert.equal(r.failed.path, at('none'));
});

// --- who does it ------------------------------------------------------------------------------------------------

test('another user reads the tree, ours are the state files', { skip: !ROOT && 'needs root' }, async () => {
  put('mine', 'x\n', 0o600);
  put('theirs', 'x\n', 0o600);
  fs.chownSync(at('ws/theirs'), USER, USER);
  const more = { uid: USER, gid: USER };
  const report = await snapshot(0, more);

  assert.equal(report.files, 1);
  assert.deepEqual(report.omitted, [{ path: 'mine', reason: 'UNREADABLE' }]);
  put('theirs', 'y\n', 0o600);
  await snapshot(1, more);
  assert.match(fs.readFileSync(at('state/patch'), 'utf8'), /^-x\n\+y$/m);
  for (const name of fs.readdirSync(at('state/base')))
    assert.equal(fs.statSync(at('state/base', name)).uid, 0);
  const { done: packed } = await pack('tar', more);

  assert.deepEqual(packed.skipped, [{ path: 'mine', reason: 'UNREADABLE' }]);
});

test('a tree that was moved to where only root gets is not read', { skip: !ROOT && 'needs root' }, async () => {
  fs.mkdirSync(at('state/open'), { mode: 0o755 });
  fs.writeFileSync(at('state/open/secret'), 'x\n');
  fs.rmdirSync(at('ws'));
  fs.symlinkSync(at('state/open'), at('ws'));
  const fd = fs.openSync(at('out'), 'w');
  const r = await run('pack', { root: at('ws'), format: 'tar', uid: USER, gid: USER }, fd);

  fs.closeSync(fd);
  assert.equal(r.code, 1);
  assert.equal(r.failed.reason, 'ACCESS_DENIED');
  assert.equal(fs.statSync(at('out')).size, 0);
});

// A pack job that waits for its reader.
async function waiting(more = {}) {
  put('large', Buffer.alloc(8 << 20, 'x'));
  const child = start('pack', { root: at('ws'), format: 'tar', ...(ROOT ? { uid: USER, gid: USER } : {}), ...more }, 'pipe');
  const exit = new Promise((done) => child.on('exit', done));
  const worker = await until(() => descendants(child.pid).find((p) => status(p.pid)?.Seccomp === '2') ?? child.exitCode !== null, 'a confined worker');

  if (worker === true) // it ended before it was seen
    child.stdio[3].resume();
  return { child, worker: worker === true ? undefined : worker, exit };
}

test('the worker is confined while it reads', async () => {
  const { child, worker } = await waiting();
  const s = status(worker.pid);

  assert.equal(s.NoNewPrivs, '1');
  if (ROOT) {
    assert.equal(s.Uid, [USER, USER, USER, USER].join('\t'));
    assert.equal(s.Groups.trim(), '');
    assert.equal(s.CapEff, '0000000000000000');
  }
  child.stdio[3].resume();
  assert.equal((await child.ended).code, 0);
});

test('a reader that goes away ends the job: exit 1', async () => {
  const { child, worker } = await waiting();

  child.stdio[3].destroy();
  const r = await child.ended;

  assert.deepEqual([r.code, r.failed.reason], [1, 'READER_GONE']);
  assert.equal(alive(worker), false);
});

test('a reader that does not read is waited for as long as the job says, here a second: exit 3', async () => {
  const { child, worker, exit } = await withLimit(1, (seconds) => waiting({ limits: { seconds } }), ({ worker: seen }) => !seen);

  assert.equal(await exit, 3);
  assert.equal(alive(worker), false);
  child.stdio[3].resume();
  assert.equal((await child.ended).refused.reason, 'TIME_LIMIT');
});

for (const name of ['SIGTERM', 'SIGKILL'])
  test(`${name} ends both processes`, async () => {
    const { child, worker } = await waiting();

    child.kill(name);
    child.stdio[3].resume();
    const r = await child.ended;

    if (name === 'SIGTERM')
      assert.deepEqual([r.code, r.failed.reason], [1, 'INTERRUPTED']);
    await until(() => !alive(worker), 'the worker ends');
  });

test('kill -9 of keeper or worker at any moment: the next job finds one state or the other', async () => {
  for (let i = 0; i < 300; i++)
    put(`d${i % 9}/f${i}`, `${i}\n`);
  await snapshot(0);
  let killed = 0;

  for (let i = 0; i < 24; i++) {
    put('d0/f0', `change ${i}\n`);
    const child = start('snapshot', { root: at('ws'), dir: at('state/base'), turn: 1, patch: at('state/patch') });

    await sleep(i / 2);
    const victim = i % 2 ? descendants(child.pid)[0]?.pid : child.pid;

    if (victim)
      signal(victim, 'SIGKILL');
    const r = await child.ended;

    killed += r.code !== 0;
    if (r.code !== null && r.code !== 0)
      assert.equal(r.failed.reason, 'WORKER_DIED');
    assert.equal((await diff(0)).patch.files, 1);
    // A killed job may have been done but for its answer, and then turn 1 is taken: from a new baseline again.
    put('d0/f0', '0\n');
    await snapshot(0);
  }
  assert.ok(killed >= 5, `${killed} jobs died`);
});

// SPDX-License-Identifier: Apache-2.0
// slow
// The plain life of an extraction, through `acpd archive extract` and through jobs of acpd-unpack itself: formats, owners, modes,
// links, large files, strip and into, single files, generations, confirmation. What is hostile is in archives-*.test.mjs.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { spawn, spawnSync } from 'node:child_process';
import * as S from '../../archives/streams.mjs';
import * as T from '../../archives/tar.mjs';
import * as Z from '../../archives/zip.mjs';
import { ACPD, NOBODY, temporary } from '../../archives/run.mjs';
import { until } from '../../lib/wait.mjs';
import { manifestDigest, scan, treeOf } from '../../lib/workspace.mjs';
import { acpdSync } from '../run.mjs';

const UNPACK = path.join(path.dirname(ACPD), 'acpd-unpack');
const isRoot = process.geteuid() === 0;
const TIMEOUT = 60000 * Number(process.env.ACPD_TEST_SLOW ?? 1);
let root;
let count = 0;

before(() => {
  root = temporary('acpd-extract-');
});
after(() => {
  if (!process.env.ACPD_TEST_KEEP)
    fs.rmSync(root, { recursive: true, force: true });
});

// A directory of its own for each test; `names` are all that is in it.
function box() {
  const dir = path.join(root, String(count++));

  fs.mkdirSync(dir);
  return {
    dir, dest: `${dir}/dest`,
    put: (name, data) => {
      fs.writeFileSync(`${dir}/${name}`, data);
      return `${dir}/${name}`;
    },
    names: () => fs.readdirSync(dir).sort(),
  };
}

const cli = (...args) => acpdSync(['archive', 'extract', ...args], { timeout: TIMEOUT });

function run(job, env = process.env) {
  const r = spawnSync(UNPACK, ['extract'], { input: `${JSON.stringify(job)}\n`, encoding: 'utf8', timeout: TIMEOUT, env });

  return { code: r.status, stderr: r.stderr, ...JSON.parse(r.stdout.trimEnd().split('\n').at(-1)) };
}

const TREE = [T.dir('d/'), T.file('d/a', 'content a'), T.file('d/run', '#!/bin/sh\n', { mode: 0o755 }), T.symlink('l', 'd/a'), T.hardlink('h', 'd/a')];
const ZIP = [Z.dir('d'), Z.file('d/a', 'content a'), Z.file('d/run', '#!/bin/sh\n', { mode: 0o100755 }), Z.symlink('l', 'd/a'), Z.file('h', 'content a')];
const sha = (data) => crypto.createHash('sha256').update(data).digest('hex');
const LINES = [
  'd 0755 0 - d',
  `f 0644 9 ${sha('content a')} d/a`,
  `f 0755 10 ${sha('#!/bin/sh\n')} d/run`,
  `f 0644 9 ${sha('content a')} h`,
  `l 0777 3 ${sha('d/a')} l -> d/a`,
].map((line) => `${line}\n`).join('');

const FORMATS = {
  tar: T.tar(...TREE), 'tar.gz': S.gzip(T.tar(...TREE)), 'tar.zst': S.zstd(T.tar(...TREE)), zip: Z.zip(ZIP),
};

test('as many archives in one job as it may have', () => {
  const b = box();
  const sources = Array.from({ length: 256 }, (_, i) => ({ archive: b.put(`a${i}`, T.tar(T.file(`f${i}`, `${i}`))) }));
  const { code, done } = run({ target: b.dest, sources });

  assert.deepEqual([code, done?.written], [0, 256]);
  assert.equal(fs.readFileSync(`${b.dest}/f255`, 'utf8'), '255');
});

for (const [format, data] of Object.entries(FORMATS)) {
  test(`${format}: bytes, modes, links; a digest of the manifest that anyone can compute`, () => {
    const b = box();
    const r = cli(b.put('archive', data), b.dest, '--json');

    assert.equal(r.status, 0, r.stderr);
    assert.equal(r.stderr, '');
    const { done } = JSON.parse(r.stdout);

    assert.equal(done.manifestDigest, `sha256:${sha(LINES)}`);
    assert.deepEqual([done.written, done.removed, done.unchanged, done.skipped, done.entries], [5, 0, 0, [], 5]);
    assert.equal(fs.readFileSync(`${b.dest}/l`, 'utf8'), 'content a');
    assert.equal(fs.readlinkSync(`${b.dest}/l`), 'd/a');
    assert.equal(fs.statSync(`${b.dest}/d/run`).mode & 0o7777, 0o755);
    assert.equal(fs.statSync(`${b.dest}/h`).ino === fs.statSync(`${b.dest}/d/a`).ino, format !== 'zip');
    if (format !== 'zip')
      assert.equal(fs.statSync(`${b.dest}/d/a`).mtimeMs, 1700000000000);
    assert.deepEqual(b.names(), ['archive', 'dest']);
  });
}

test('without --json: what was written, on standard output', () => {
  const b = box();
  const r = cli(b.put('archive', FORMATS.tar), b.dest);

  assert.equal(r.status, 0);
  assert.match(r.stdout, /^written 5 files, \d+ bytes\n$/);
});

test('a refusal: exit 3, the reason with path and message on standard error, nothing is left', () => {
  const b = box();
  const r = cli(b.put('archive', T.tar(T.file('ok', 'x'), T.file('d/../../x', 'y'))), b.dest);

  assert.equal(r.status, 3);
  assert.equal(r.stdout, '');
  assert.match(r.stderr, /^NAME_DOTDOT: d\/\.\.\/\.\.\/x: .+\n$/);
  assert.deepEqual(b.names(), ['archive']);
});

test('a failure: exit 1', () => {
  const b = box();

  assert.equal(cli(`${b.dir}/not-there`, b.dest).status, 1);
  assert.match(cli(b.put('archive', FORMATS.tar), `${b.dir}/no/dest`).stderr, /^TARGET_PARENT_MISSING: /);
  assert.deepEqual(b.names(), ['archive']);
});

test('an empty directory is replaced and keeps its mode; a filled one is merged into', () => {
  const b = box();
  const archive = b.put('archive', FORMATS['tar.gz']);

  fs.mkdirSync(b.dest);
  fs.chmodSync(b.dest, 0o750);
  assert.equal(cli(archive, b.dest).status, 0);
  assert.equal(fs.statSync(b.dest).mode & 0o7777, 0o750);

  const merged = `${b.dir}/merged`;

  fs.mkdirSync(`${merged}/d`, { recursive: true });
  fs.writeFileSync(`${merged}/d/a`, 'of somebody else');
  fs.writeFileSync(`${merged}/mine`, 'mine');
  const { done } = JSON.parse(cli(archive, merged, '--json').stdout);

  assert.deepEqual(done.skipped, [{ path: 'd/a', reason: 'CONFLICT_FOREIGN' }]);
  assert.equal(fs.readFileSync(`${merged}/d/a`, 'utf8'), 'of somebody else');
  assert.deepEqual(fs.readdirSync(merged).sort(), ['d', 'h', 'l', 'mine']);
});

test('as another user: who owns everything, below a directory that is not his too', { skip: !isRoot && 'needs root' }, () => {
  const b = box();
  const archive = b.put('archive', FORMATS['tar.zst']);

  fs.chmodSync(archive, 0o600);
  assert.equal(cli(archive, b.dest, '--uid', String(NOBODY)).status, 0);
  for (const name of ['', '/d', '/d/a', '/l'])
    assert.equal(fs.lstatSync(b.dest + name).uid, NOBODY, name);
  assert.deepEqual(b.names(), ['archive', 'dest']);
});

test('a file of 200 MiB, and one with holes that take no room', () => {
  const b = box();
  const big = Buffer.alloc(200 << 20, crypto.randomBytes(1 << 20));
  const archive = b.put('archive', Buffer.concat([T.header({ name: 'big', size: big.length }), big, T.sparse10('holes', 1 << 28, [[1 << 27, 'x'], [1 << 28, '']]), T.END]));

  assert.equal(cli(archive, b.dest).status, 0);
  assert.ok(fs.readFileSync(`${b.dest}/big`).equals(big));
  const holes = fs.statSync(`${b.dest}/holes`);

  assert.equal(holes.size, 1 << 28);
  assert.ok(holes.blocks * 512 < 1 << 22, `${holes.blocks} blocks`);
});

test('strip and into, several sources, single files and what they may replace', () => {
  const b = box();
  const archive = b.put('archive', T.tar(T.dir('top/'), T.file('top/a', 'a'), T.file('top/deep/b', 'b'), T.hardlink('top/h', 'top/a'), T.file('loose', 'cut away')));
  const r = run({
    target: b.dest, sources: [
      { archive, strip: 1, into: 'x/y' }, { archive, format: 'tar' }, { file: 'loose', text: 'not this' },
      { file: 'top/a', text: 'über\n', overwrite: true }, { file: 'bin/tool', base64: 'AAEC/w==', executable: true },
    ],
  });

  assert.equal(r.code, 0);
  assert.deepEqual(r.done.skipped, [{ path: 'loose', reason: 'STRIPPED' }, { path: 'loose', reason: 'EXISTS' }]);
  assert.deepEqual(fs.readdirSync(`${b.dest}/x/y`).sort(), ['a', 'deep', 'h']);
  assert.equal(fs.readFileSync(`${b.dest}/loose`, 'utf8'), 'cut away');
  assert.equal(fs.readFileSync(`${b.dest}/top/a`, 'utf8'), 'über\n');
  assert.equal(fs.readFileSync(`${b.dest}/top/h`, 'utf8'), 'a');
  assert.deepEqual(fs.readFileSync(`${b.dest}/bin/tool`), Buffer.from([0, 1, 2, 255]));
  assert.equal(fs.statSync(`${b.dest}/bin/tool`).mode & 0o777, 0o755);
});

// What strip cuts away of an archive: [name, entries, strip, tree, stripped, what is told, without directories]
const GLOBAL = T.entry({ name: 'pax_global_header', type: 'g', data: '52 comment=0123456789012345678901234567890123456789\n' });
const FLAT = { a: '1', 'b.md': '2', c: '3', d: '4', 'src/e': '5' };
const TOP = { 'top/a': '1', 'top/deep/b': '2', 'top/top': '3', 'top/l': '-> deep/b', 'top/h': '1' };
const files = (tree) => Object.entries(tree).map(([name, data]) => (data.startsWith('->') ? T.symlink(name, data.slice(3)) : T.file(name, data)));
const zipOf = (tree) => Z.zip(Object.entries(tree).map(([name, data]) => (data.startsWith('->') ? Z.symlink(name, data.slice(3)) : Z.file(name, data))));
const without = (prefix, tree) => Object.fromEntries(Object.entries(tree).map(([name, data]) => [name.slice(prefix.length), data]));
const STRIPS = [
  ['a number: what has fewer components is told', T.tar(...files(FLAT)), 1, { e: '5' }, 1, ['a', 'b.md', 'c', 'd']],
  ['a number, zip', zipOf(FLAT), 1, { e: '5' }, 1, ['a', 'b.md', 'c', 'd']],
  ['a number of what code hosts make', T.tar(GLOBAL, T.dir('top/'), ...files(TOP)), 1, without('top/', TOP), 1, []],
  ['auto of what code hosts make', T.tar(GLOBAL, T.dir('top/'), ...files(TOP)), 'auto', without('top/', TOP), 1, []],
  ['auto, tar.gz', S.gzip(T.tar(T.dir('top/'), ...files(TOP))), 'auto', without('top/', TOP), 1, []],
  ['auto, tar.zst', S.zstd(T.tar(T.dir('top/'), ...files(TOP))), 'auto', without('top/', TOP), 1, []],
  ['auto, zip', zipOf(TOP), 'auto', without('top/', TOP), 1, []],
  ['auto, without an entry for the directory', T.tar(...files(TOP)), 'auto', without('top/', TOP), 1, []],
  ['auto, the entry for the directory last', T.tar(...files(TOP), T.dir('top/')), 'auto', without('top/', TOP), 1, []],
  ['auto, ./ before the names and an entry for the root', T.tar(T.dir('./'), T.dir('./top/'), ...files({ './top/a': '1', './top//b': '2' })), 'auto', { a: '1', b: '2' }, 1, []],
  ['auto, links only, and directories of links', T.tar(T.symlink('top/l', 'x'), T.symlink('top/d/l', '../x')), 'auto', { l: '-> x', 'd/l': '-> ../x' }, 1, []],
  ['auto, one directory below the other', T.tar(...files({ 'top/top/top': '1' })), 'auto', { 'top/top': '1' }, 1, []],
  ['auto, a flat archive', T.tar(...files(FLAT)), 'auto', FLAT, 0, []],
  ['auto, a flat zip', zipOf(FLAT), 'auto', FLAT, 0, []],
  ['auto, a file beside the directory', T.tar(...files({ ...TOP, z: '9' })), 'auto', { ...TOP, z: '9' }, 0, []],
  ['auto, two directories', T.tar(...files({ ...TOP, 'topp/z': '9' })), 'auto', { ...TOP, 'topp/z': '9' }, 0, []],
  ['auto, an empty directory beside it', T.tar(...files(TOP), T.dir('empty/')), 'auto', { ...TOP, empty: 'dir' }, 0, []],
  ['auto, a single file', T.tar(T.file('top', '1')), 'auto', { top: '1' }, 0, []],
  ['auto, a single empty directory', T.tar(T.dir('top/')), 'auto', { top: 'dir' }, 0, []],
  ['auto, nothing at all', T.END, 'auto', {}, 0, []],
];

for (const [name, data, strip, tree, stripped, told] of STRIPS) {
  test(`strip: ${name}`, () => {
    const b = box();
    const r = cli(b.put('archive', data), b.dest, '--strip', String(strip), '--json');

    assert.equal(r.status, 0, r.stdout + r.stderr);
    const { done } = JSON.parse(r.stdout);
    assert.deepEqual(treeOf(b.dest), tree);
    assert.equal(done.stripped, stripped);
    assert.deepEqual([done.skipped, done.skippedTotal], [told.map((p) => ({ path: p, reason: 'STRIPPED' })), told.length]);
    assert.equal(done.manifestDigest, manifestDigest(b.dest));
    assert.equal(done.entries, scan(b.dest).size);
  });
}

test('strip: what git makes of a commit, with and without a prefix', () => {
  const b = box();
  const git = (...args) => {
    const r = spawnSync('git', ['-C', `${b.dir}/repo`, '-c', 'user.name=n', '-c', 'user.email=e@x', ...args], { encoding: 'utf8', timeout: TIMEOUT });

    assert.equal(r.status, 0, r.stderr);
  };

  fs.mkdirSync(`${b.dir}/repo/src`, { recursive: true });
  fs.writeFileSync(`${b.dir}/repo/README`, 'read me');
  fs.writeFileSync(`${b.dir}/repo/src/main.c`, 'int');
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'first');
  for (const [i, format] of ['tar', 'tar.gz', 'zip'].entries())
    for (const [prefix, stripped] of [['repo-0123abc/', 1], ['', 0]]) {
      git('archive', `--format=${format}`, `--prefix=${prefix}`, '-o', `${b.dir}/archive`, 'HEAD');
      const r = cli(`${b.dir}/archive`, `${b.dest}${i}${stripped}`, '--strip', 'auto', '--json');

      assert.equal(r.status, 0, r.stdout);
      assert.deepEqual(treeOf(`${b.dest}${i}${stripped}`), { README: 'read me', 'src/main.c': 'int' }, format);
      assert.equal(JSON.parse(r.stdout).done.stripped, stripped);
    }
});

test('strip: nothing left is refused, as are bad names that would have been cut away; the target is as it was', () => {
  const b = box();
  const refused = (data, strip) => {
    const r = cli(b.put('archive', data), b.dest, '--strip', String(strip), '--json');

    assert.equal(r.status, 3, r.stdout);
    assert.ok(!fs.existsSync(b.dest));
    return JSON.parse(r.stdout).refused.reason;
  };

  assert.equal(refused(T.tar(...files(FLAT)), 9), 'STRIPPED_ALL');
  assert.equal(refused(zipOf(FLAT), 9), 'STRIPPED_ALL');
  assert.equal(refused(T.tar(T.dir('top/')), 1), 'STRIPPED_ALL');
  for (const strip of [1, 9, 'auto']) {
    assert.equal(refused(T.tar(...files(TOP), T.file('../x', '1')), strip), 'NAME_DOTDOT');
    assert.equal(refused(T.tar(...files(TOP), T.file('top/../x', '1')), strip), 'NAME_DOTDOT');
    assert.equal(refused(T.tar(T.file('.acpd-stage-top/x', '1')), strip), 'NAME_RESERVED');
  }
  // inside as it came, outside of what is left
  assert.equal(refused(T.tar(T.file('top/a', '1'), T.symlink('top/l', '../a')), 'auto'), 'SYMLINK_OUTWARD');
  assert.equal(refused(T.tar(T.symlink('a', 'top/x'), T.file('top/x', '1'), T.hardlink('top/h', 'a')), 1), 'HARDLINK_MISSING');
  assert.deepEqual(b.names(), ['archive']);
});

test('strip: of many the first 1000 are told, and how many; into, and single files beside', () => {
  const b = box();
  const many = T.tar(...Array.from({ length: 1200 }, (_, i) => T.file(`f${String(i).padStart(4, '0')}`, '')), T.file('top/x', 'x'));
  const { done } = run({ target: b.dest, sources: [{ archive: b.put('many', many), strip: 1 }, { file: 'f0000', text: 'mine' }] });

  assert.equal(done.skippedTotal, 1200);
  assert.deepEqual([done.skipped.length, done.skipped[999].path], [1000, 'f0999']);
  assert.deepEqual(treeOf(b.dest), { x: 'x', f0000: 'mine' });
  const archive = b.put('top', T.tar(T.dir('./'), T.dir('top/', { mode: 0o700 }), ...files(TOP)));
  const auto = run({ target: `${b.dest}2`, sources: [{ archive, strip: -1, into: 'x/y' }, { file: 'x/y/top', text: 'mine' }, { file: 'x/y/new', text: 'mine' }] });

  assert.deepEqual(auto.done.skipped, [{ path: 'x/y/top', reason: 'EXISTS' }]);
  assert.deepEqual(treeOf(`${b.dest}2/x/y`), { ...without('top/', TOP), new: 'mine' });
  const second = run({ target: `${b.dest}3`, sources: [{ file: 'a', text: '' }, { archive, strip: -1 }] });

  assert.equal(second.code, 2);
});

test('strip: what was left out is named without --json', () => {
  const b = box();
  const r = cli(b.put('archive', T.tar(...files(FLAT))), b.dest, '--strip', '1');

  assert.equal(r.stdout, 'written 1 files, 1 bytes\n');
  assert.equal(r.stderr, 'left out 4:\n  STRIPPED: a\n  STRIPPED: b.md\n  STRIPPED: c\n  STRIPPED: d\n');
});

test('generations: a manifest, then only what changed; a refusal leaves both as they were', () => {
  const b = box();
  const manifest = `${b.dir}/manifest`;
  const job = (data) => ({ target: b.dest, manifest, sources: [{ archive: b.put('archive', data) }] });
  const next = T.tar(T.dir('d/'), T.file('d/a', 'content a'), T.file('new', 'n'));

  assert.equal(run(job(FORMATS.tar)).done.written, 5);
  assert.equal(fs.readFileSync(manifest, 'utf8'), LINES);
  fs.writeFileSync(`${b.dest}/h`, 'changed by somebody');

  const r = run(job(T.tar(T.file('x', 'y'), T.file('/etc/x', 'y'))));

  assert.equal(r.refused.reason, 'NAME_ABSOLUTE');
  assert.equal(fs.readFileSync(manifest, 'utf8'), LINES);
  assert.deepEqual(b.names(), ['archive', 'dest', 'manifest']);

  const { done } = run(job(next));

  assert.deepEqual([done.written, done.removed, done.skipped], [1, 2, [{ path: 'h', reason: 'CONFLICT_MODIFIED' }]]);
  assert.deepEqual(fs.readdirSync(b.dest).sort(), ['d', 'h', 'new']);
  assert.equal(done.manifestDigest, `sha256:${sha(fs.readFileSync(manifest))}`);
  assert.deepEqual(b.names(), ['archive', 'dest', 'manifest']);
});

// A job that asks for confirmation. -> {code, lines}
async function confirmed(job, word) {
  const child = spawn(UNPACK, ['extract'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = [];
  let text = '';

  child.stdin.write(`${JSON.stringify({ ...job, confirm: true })}\n`);
  child.stdout.on('data', (data) => {
    text += data;
    if (lines.length === 0 && text.includes('\n')) {
      lines.push(JSON.parse(text.split('\n')[0]));
      child.stdin.end(word);
    }
  });
  const code = await new Promise((resolve) => {
    child.on('close', resolve);
  });

  return { code, first: lines[0], last: JSON.parse(text.trimEnd().split('\n').at(-1)) };
}

test('confirmation: nothing is there before it, and nothing afterwards without it', async () => {
  const b = box();
  const job = { target: b.dest, sources: [{ archive: b.put('archive', FORMATS.zip) }] };
  const no = await confirmed(job, '');

  assert.equal(no.code, 5);
  assert.equal(no.first.staged.written, 5);
  assert.deepEqual(b.names(), ['archive']);
  const yes = await confirmed(job, 'commit\n');

  assert.equal(yes.code, 0);
  assert.deepEqual(yes.last.done, yes.first.staged);
  assert.deepEqual(b.names(), ['archive', 'dest']);
});

test('limits are the job\'s, and are told', () => {
  const b = box();
  const archive = b.put('archive', T.tar(T.file('a/b/c', '12345'), T.file('d', '12345')));
  const refused = (limits) => run({ target: b.dest, limits, sources: [{ archive }] }).refused;

  assert.deepEqual(Object.values(refused({ bytes: 9 })).filter((v) => typeof v !== 'string'), [9, 10]);
  assert.equal(refused({ fileBytes: 4 }).reason, 'FILE_TOO_LARGE');
  assert.equal(refused({ entries: 3 }).reason, 'TOO_MANY_ENTRIES');
  assert.equal(refused({ depth: 2 }).reason, 'PATH_TOO_DEEP');
  assert.equal(refused({ pathBytes: 4 }).reason, 'PATH_TOO_LONG');
  assert.deepEqual(b.names(), ['archive']);
});

test('malformed jobs: exit 2, and the member is named', () => {
  const b = box();
  const bad = [
    [{}, /target/], [{ target: 'relative', sources: [] }, /target/], [{ target: b.dest }, /sources/],
    [{ target: b.dest, sources: [{}] }, /sources\[0\]/], [{ target: b.dest, sources: [{ archive: 'a', text: 'b' }] }, /sources\[0\]/],
    [{ target: b.dest, sources: [], colour: 'red' }, /colour/], [{ target: b.dest, sources: [], limits: { entries: 0 } }, /limits\.entries/],
    [{ target: b.dest, sources: [{ archive: 'a', format: 'rar' }] }, /format/], [{ target: b.dest, sources: [{ file: 'a', base64: '?' }] }, /base64/],
  ];

  for (const [job, member] of bad) {
    const r = run(job);

    assert.equal(r.code, 2, JSON.stringify(job));
    assert.match(`${r.failed.path} ${r.failed.message}`, member);
  }
  assert.deepEqual(b.names(), []);
});

test('a signal ends a job, and nothing is left', async () => {
  const b = box();
  const archive = b.put('archive', Buffer.concat([T.header({ name: 'big', size: 1 << 29 }), Buffer.alloc(1 << 29), T.END]));
  const child = spawn(UNPACK, ['extract'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const code = new Promise((resolve) => child.on('close', resolve));

  child.stdin.end(`${JSON.stringify({ target: b.dest, sources: [{ archive }] })}\n`);
  await until(() => b.names().some((n) => n.startsWith('.acpd-stage')) || child.exitCode !== null, 'it works');
  child.kill('SIGTERM');
  assert.equal(await code, 1, 'it had not done it all before');
  assert.deepEqual(b.names(), ['archive']);
});

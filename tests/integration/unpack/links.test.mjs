// SPDX-License-Identifier: Apache-2.0
// Symbolic links of archives that lead out, with each rule of `links`: what is left out and told, and that nothing that is kept leads out.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { spawnSync } from 'node:child_process';
import * as S from '../../archives/streams.mjs';
import * as T from '../../archives/tar.mjs';
import * as Z from '../../archives/zip.mjs';
import { ACPD, temporary } from '../../archives/run.mjs';
import { manifestDigest, scan, treeOf } from '../../lib/workspace.mjs';
import { acpdSync } from '../run.mjs';

const UNPACK = path.join(path.dirname(ACPD), 'acpd-unpack');
const TIMEOUT = 60000 * Number(process.env.ACPD_TEST_SLOW ?? 1);
let root;
let count = 0;

before(() => {
  root = temporary('acpd-links-');
});
after(() => {
  if (!process.env.ACPD_TEST_KEEP)
    fs.rmSync(root, { recursive: true, force: true });
});

// A directory of its own for each test.
function box() {
  const dir = path.join(root, String(count++));

  fs.mkdirSync(dir);
  return {
    dir, dest: `${dir}/dest`,
    put: (name, data) => {
      fs.writeFileSync(`${dir}/${name}`, data);
      return `${dir}/${name}`;
    },
  };
}

const cli = (...args) => acpdSync(['archive', 'extract', ...args], { timeout: TIMEOUT });

function run(job) {
  const r = spawnSync(UNPACK, ['extract'], { input: `${JSON.stringify(job)}\n`, encoding: 'utf8', timeout: TIMEOUT });

  return { code: r.status, stderr: r.stderr, ...JSON.parse(r.stdout.trimEnd().split('\n').at(-1)) };
}

const files = (tree) => Object.entries(tree).map(([name, data]) => (data.startsWith('->') ? T.symlink(name, data.slice(3)) : T.file(name, data)));
const zipOf = (tree) => Z.zip(Object.entries(tree).map(([name, data]) => (data.startsWith('->') ? Z.symlink(name, data.slice(3)) : Z.file(name, data))));
// What a Python venv is, made at /made/venv: absolute links, links over them, one that stays inside.
const BIN = { 'venv/bin/python': '-> /usr/bin/python3', 'venv/bin/python3': '-> python', 'venv/bin/python3.11': '-> python3' };
const VENV = { 'venv/pyvenv.cfg': 'home = /usr/bin', 'venv/lib/python3.11/site-packages/a.py': 'a', 'venv/lib64': '-> lib', ...BIN };
const KEPT = { 'venv/pyvenv.cfg': 'home = /usr/bin', 'venv/lib/python3.11/site-packages/a.py': 'a', 'venv/lib64': '-> lib' };
const LOST = [['venv/bin/python', 'SYMLINK_ABSOLUTE'], ['venv/bin/python3', 'SYMLINK_OUTWARD'], ['venv/bin/python3.11', 'SYMLINK_OUTWARD']];
const tarOf = (tree) => T.tar(...files(tree));
// [name, entries of a tree in a target, rule, what is there, what is left out]
const LINKS = [
  ['a venv', () => VENV, 'skip', () => KEPT, LOST],
  ['a venv', () => VENV, 'keep-inside', () => KEPT, LOST],
  ['absolute ones that lead inside', (to) => ({ f: '1', 'd/e/f': '2', 'd/l': `-> ${to}/d/e/f`, l: `-> ${to}/d`, 'd/e/top': `-> ${to}`, top: `-> ${to}/`, over: '-> d/l', missing: `-> ${to}/no/such` }), 'keep-inside',
    () => ({ f: '1', 'd/e/f': '2', 'd/l': '-> ../d/e/f', l: '-> d', 'd/e/top': '-> ../../', top: '-> .', over: '-> d/l', missing: '-> no/such' }), []],
  ['absolute ones that lead inside', (to) => ({ f: '1', 'd/l': `-> ${to}/f`, over: '-> d/l' }), 'skip', () => ({ f: '1' }), [['d/l', 'SYMLINK_ABSOLUTE'], ['over', 'SYMLINK_OUTWARD']]],
  ['absolute ones that climb out, or to a name like it', (to) => ({ f: '1', a: `-> ${to}/../outside`, b: `-> ${to}2/f`, c: `-> ${to}/d/../../x`, d: '-> .' }), 'keep-inside',
    () => ({ f: '1', d: '-> .' }), [['a', 'SYMLINK_OUTWARD'], ['b', 'SYMLINK_ABSOLUTE'], ['c', 'SYMLINK_OUTWARD']]],
  ['relative ones and loops', () => ({ f: '1', up: '-> ../x', a: '-> b', b: '-> a', far: '-> up/y', ok: '-> f' }), 'skip', () => ({ f: '1', ok: '-> f' }),
    [['up', 'SYMLINK_OUTWARD'], ['a', 'SYMLINK_LOOP'], ['b', 'SYMLINK_LOOP'], ['far', 'SYMLINK_OUTWARD']]],
  ['chains that lead out, before and after what they lead over', () => ({ f: '1', c: '-> a/x', a: '-> b', b: '-> ../..', early: '-> d/e/../../..', 'd/e/f': '2' }), 'keep-inside',
    () => ({ f: '1', 'd/e/f': '2' }), ['c', 'a', 'b', 'early'].map((p) => [p, 'SYMLINK_OUTWARD'])],
  ['made relative, and then over one that leads out, or up from where one leads', (to) => ({ 'd/e/f': '2', abs: `-> ${to}/d/up/x`, 'd/up': '-> ../..', z: `-> ${to}/w/..`, w: '-> .', x: `-> ${to}/y/../..`, y: '-> d/e',
    far: `-> ${to}/y/../../..`, slashes: `-> ${to}//etc/passwd`, 'd/slashes': `-> ${to}//f` }), 'keep-inside',
    () => ({ 'd/e/f': '2', w: '-> .', x: '-> y/../..', y: '-> d/e', 'd/slashes': '-> ..//f' }),
    [['abs', 'SYMLINK_OUTWARD'], ['d/up', 'SYMLINK_OUTWARD'], ['z', 'SYMLINK_OUTWARD'], ['far', 'SYMLINK_OUTWARD'], ['slashes', 'SYMLINK_ABSOLUTE']]],
  ['nothing but one', () => ({ 'a/b/l': '-> /etc' }), 'skip', () => ({}), [['a/b/l', 'SYMLINK_ABSOLUTE']]],
];

for (const [name, entries, rule, tree, lost] of LINKS) {
  for (const [format, pack] of [['tar', tarOf], ['tar.gz', (e) => S.gzip(tarOf(e))], ['zip', zipOf]]) {
    for (const filled of [false, true])
      test(`links: ${name}, ${rule}, ${format}${filled ? ', beside what is there' : ''}`, () => {
        const b = box(), mine = filled ? { mine: 'mine' } : {};

        if (filled) {
          fs.mkdirSync(b.dest);
          fs.writeFileSync(`${b.dest}/mine`, 'mine');
        }
        const archive = b.put('archive', pack(entries(b.dest))), refused = cli(archive, b.dest, '--json');
        assert.equal(refused.status, 3, refused.stdout);
        assert.match(JSON.parse(refused.stdout).refused.reason, /^SYMLINK_/);
        const r = cli(archive, b.dest, '--links', rule, '--json');
        assert.equal(r.status, 0, r.stdout + r.stderr);
        const { done } = JSON.parse(r.stdout), told = lost.map(([p, reason]) => ({ path: p, reason }));
        assert.deepEqual(treeOf(b.dest), { ...tree(b.dest), ...mine });
        assert.deepEqual([done.skipped, done.skippedTotal], [told, told.length]);
        if (!filled) {
          assert.equal(done.manifestDigest, manifestDigest(b.dest));
          assert.equal(done.entries, scan(b.dest).size);
        }
      });
  }
}

test('links: below a directory that strip takes away, and into', () => {
  const b = box();
  const archive = (to) => b.put('archive', T.tar(T.symlink('top/d/l', `${to}/f`), T.file('top/f', '1'), T.symlink('top/x', '/etc')));
  const one = run({ target: b.dest, links: 'keep-inside', sources: [{ archive: archive(b.dest), strip: -1 }] });
  assert.deepEqual([treeOf(b.dest), one.done.skipped], [{ f: '1', 'd/l': '-> ../f' }, [{ path: 'x', reason: 'SYMLINK_ABSOLUTE' }]]);
  const two = run({ target: `${b.dest}2`, links: 'keep-inside', sources: [{ archive: archive(`${b.dest}2/in/to`), strip: 1, into: 'in/to' }] });
  assert.deepEqual([treeOf(`${b.dest}2`), two.done.skippedTotal], [{ 'in/to/f': '1', 'in/to/d/l': '-> ../../../in/to/f' }, 1]);
});

test('links: one that takes the place of a file, and what would be written over or through one', () => {
  const b = box();
  const of = (links, ...entries) => run({ target: b.dest, links, sources: [{ archive: b.put('archive', T.tar(...entries)) }] });

  for (const links of ['skip', 'keep-inside']) {
    for (const later of [T.file('l/f', 'x'), T.dir('l'), T.symlink('l/m', 'f'), T.hardlink('l/h', 'l')])
      assert.equal(of(links, T.symlink('l', '/etc'), later).refused?.reason, 'TYPE_CONFLICT');
    const { done } = of(links, T.file('a/b/f', '1'), T.symlink('a/b/f', '/etc'), T.symlink('g', '/etc'), T.file('g', '2'));
    assert.deepEqual([treeOf(b.dest), [...scan(b.dest).keys()].includes('a'), done.entries], [{ g: '2' }, false, 1]);
    assert.equal(done.manifestDigest, manifestDigest(b.dest));
    fs.rmSync(b.dest, { recursive: true });
  }
});

// The kernel is asked where each of them leads. Beside the target is something for every name, so what climbs out is found.
test('links: random ones that are kept never lead out', () => {
  const NAMES = ['a', 'b', 'c'], PARTS = [...NAMES, ...NAMES, '..', '..', '.', ''];
  let seed = 1, kept = 0;
  const below = (n) => (seed = (seed * 48271) % 0x7fffffff) % n, one = (list) => list[below(list.length)];
  const some = (list, most) => Array.from({ length: 1 + below(most) }, () => one(list)).join('/');

  for (let i = 0; i < 60; i++) {
    const b = box(), top = path.dirname(b.dest);

    for (const name of NAMES)
      fs.mkdirSync(`${top}/${name}`, { recursive: true });
    const leaves = new Map(Array.from({ length: 12 }, () => [some(NAMES, 3), one(['', '', `${b.dest}/`, `${b.dest}/`, `${top}/`, '/']) + some(PARTS, 5)]));
    const names = [...leaves.keys()].filter((n) => ![...leaves.keys()].some((m) => m.startsWith(`${n}/`)));
    const r = run({ target: b.dest, links: one(['skip', 'keep-inside']), sources: [{ archive: b.put('archive', T.tar(T.dir('d'), ...names.map((n) => T.symlink(n, leaves.get(n) || '.')))) }] });

    assert.ok(r.done, JSON.stringify([r, ...leaves]));
    assert.equal(r.done.manifestDigest, manifestDigest(b.dest));
    for (const name of names.filter((n) => fs.lstatSync(`${b.dest}/${n}`, { throwIfNoEntry: false }))) {
      const to = `${b.dest}/${name}`, real = fs.existsSync(to) ? fs.realpathSync(to) : b.dest;

      kept++;
      assert.ok(!fs.readlinkSync(to).startsWith('/') && (real === b.dest || real.startsWith(`${b.dest}/`)), `${name} -> ${leaves.get(name)} leads to ${real}: ${JSON.stringify([...leaves])}`);
    }
  }
  assert.ok(kept > 50, `${kept} were kept`);
});

test('links: hard links that lead out are refused all the same', () => {
  const b = box();

  for (const links of ['skip', 'keep-inside'])
    for (const to of ['../outside', '/etc/passwd'])
      assert.equal(run({ target: b.dest, links, sources: [{ archive: b.put('archive', T.tar(T.hardlink('h', to))) }] }).refused.reason, 'HARDLINK_OUTWARD');
  assert.equal(fs.existsSync(b.dest), false);
  const bad = run({ target: b.dest, links: 'all', sources: [] });
  assert.match(JSON.stringify(bad), /links: not one of refuse, skip and keep-inside/);
});

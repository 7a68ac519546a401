// SPDX-License-Identifier: Apache-2.0
// build: release
// The corpora of the fuzz targets: what make unpacks from an archive, and what make fuzz-pack packs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { ROOT } from '../../lib/daemon.mjs';

const ARCHIVE = path.join(ROOT, 'tests/fuzz/corpus/frames.tar.gz');
let dir;

beforeEach(() => { dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-corpora-')); });
afterEach(() => fs.rmSync(dir, { recursive: true }));

const at = (name) => path.join(dir, name);
const run = (command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' });

  return { status, stdout, stderr };
};
const good = (...command) => {
  const r = run(...command);

  assert.equal(r.status, 0, r.stderr);
  return r.stdout;
};
const unpack = () => good('make', '-s', `CORPUS=${dir}`, at('frames/.unpacked'));
const pack = (to) => run('sh', 'tests/fuzz/pack.sh', at('frames'), at(to));
const inputs = () => fs.readdirSync(at('frames')).filter((name) => name !== '.unpacked').sort();
const inArchive = (file) => good('tar', '-tzf', file).trim().split('\n');

test('a newer archive takes the place of what an older one had; an input that was added stays', () => {
  unpack();
  const names = inArchive(ARCHIVE);

  assert.ok(names.length > 5);
  assert.deepEqual(inputs(), names);
  fs.writeFileSync(at('frames/of an older archive'), 'x');
  fs.appendFileSync(at('frames/.unpacked'), 'of an older archive\n');
  fs.utimesSync(at('frames/.unpacked'), 0, 0);
  fs.writeFileSync(at('frames/zz added'), 'x');
  unpack();
  assert.deepEqual(inputs(), [...names, 'zz added']);
});

test('the same inputs give the same archive, whenever they were written; another input gives another', () => {
  unpack();
  assert.equal(pack('one').status, 0);
  for (const name of inputs().reverse()) {
    const text = fs.readFileSync(at(`frames/${name}`));

    fs.rmSync(at(`frames/${name}`));
    fs.writeFileSync(at(`frames/${name}`), text, { mode: 0o600 });
  }
  assert.equal(pack('two').status, 0);
  assert.deepEqual(fs.readFileSync(at('two')), fs.readFileSync(at('one')));
  fs.writeFileSync(at('frames/zz added'), 'x');
  assert.equal(pack('two').status, 0);
  assert.deepEqual(inArchive(at('two')), [...inArchive(at('one')), 'zz added']);
  assert.deepEqual(fs.readdirSync(dir).sort(), ['frames', 'one', 'two']);
});

test('a folder without inputs is not packed', () => {
  fs.mkdirSync(at('frames'));
  const { status, stderr } = pack('one');

  assert.equal(status, 1);
  assert.match(stderr, /^pack\.sh: .*frames has no input$/m);
  assert.ok(!fs.existsSync(at('one')));
});

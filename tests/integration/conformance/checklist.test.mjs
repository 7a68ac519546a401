// SPDX-License-Identifier: Apache-2.0
// The list is complete: each statement 1-70 has a test by its number, or a reason why not.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';

const HERE = new URL('./', import.meta.url);
const LAST = 70;
const read = (name) => fs.readFileSync(new URL(name, HERE), 'utf8');
const files = (prefix) => fs.readdirSync(HERE).filter((f) => f.startsWith(prefix) && f.endsWith('.test.mjs'));

// The names of the tests of a file. Skipped ones do not count.
const names = (file) => [...read(file).matchAll(/^\s*test\(\s*(['"`])(.*?)(?<!\\)\1,/gm)].map((m) => m[2]);
const number = (name) => Number(name.match(/^(\d\d) \S/)?.[1]);

const raw = files('raw-').flatMap(names);
const sdk = files('sdk-').flatMap(names);
const excused = [...read('NOT-APPLICABLE.md').matchAll(/^\|\s*(\d+)\s*\|\s*(.*?)\s*\|$/gm)].map((m) => [Number(m[1]), m[2]]);

test('every statement has a test in raw-*.test.mjs, or a reason', () => {
  const covered = new Set([...raw.map(number), ...excused.map(([n]) => n)]);
  const missing = Array.from({ length: LAST }, (_, i) => i + 1).filter((n) => !covered.has(n));

  assert.deepEqual(missing, []);
});

test('no statement has both, and a reason is a sentence', () => {
  const tested = new Set(raw.map(number));

  assert.deepEqual(excused.filter(([n]) => tested.has(n)), []);
  for (const [n, reason] of excused)
    assert.ok(n >= 1 && n <= LAST && reason.split(' ').length >= 4, `${n}: ${reason}`);
});

test('every test is named after a statement, once', () => {
  const all = [...raw.map((n) => `raw ${n}`), ...sdk.map((n) => `sdk ${n}`)];

  assert.ok(raw.length >= LAST && sdk.length >= 20, `${raw.length} raw, ${sdk.length} sdk`);
  for (const name of [...raw, ...sdk])
    assert.ok(number(name) >= 1 && number(name) <= LAST, `not a number of the list: ${name}`);
  assert.equal(new Set(all).size, all.length, 'two tests have the same name');
});

test('every file looks at all that the daemon said, and skips nothing', () => {
  for (const file of [...files('raw-'), ...files('sdk-')]) {
    const source = read(file);

    if (file.startsWith('raw-'))
      assert.match(source, /= serve\(|after\(assertNoViolations\)/, file);
    assert.doesNotMatch(source, /test\.(skip|todo|only)|\bskip:|\btodo:/, file);
  }
});

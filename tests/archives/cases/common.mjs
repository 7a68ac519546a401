// SPDX-License-Identifier: Apache-2.0
// How a case is written: what is packed, in which formats, and what must come of it. ../README.md explains it.

import path from 'node:path';
import * as S from '../streams.mjs';
import * as T from '../tar.mjs';
import * as Z from '../zip.mjs';

// Nodes of an expected tree. Modes: the owner's bits must be these, group and others may have fewer.
export const f = (data = '', mode = 0o644) => ({ type: 'file', data: T.bytes(data), mode });
export const x = (data = '') => f(data, 0o755);
export const d = (mode = 0o755) => ({ type: 'dir', mode });
export const l = (target) => ({ type: 'link', target });
// Another name of the file that stands at `name` in the same tree.
export const same = (name) => ({ type: 'same', name });
// A file too long to be held: its size and what its bytes from `at` on are; the rest is zeros.
export const holes = (size, pieces, mode = 0o644) => ({ type: 'file', size, pieces, mode });

// Verdicts.
export const refused = (...reasons) => ({ refused: reasons, trees: [] });
export const written = (tree) => ({ refused: [], trees: [tree] });
// Both are right: to refuse with one of these reasons, or to write one of these trees. rule: why that does no harm.
export const either = (rule, reasons, ...trees) => ({ rule, refused: reasons, trees });

// The directories that a tree implies are part of it.
export function fullTree(tree) {
  const all = { ...tree };

  for (const name of Object.keys(tree)) {
    for (let up = path.posix.dirname(name); up !== '.'; up = path.posix.dirname(up))
      all[up] ??= d();
  }
  return all;
}

// Entries told without a format: {file, data, mode}, {dir, mode}, {link, to}, {hard, to}.
const kindOf = (e) => ['file', 'dir', 'link', 'hard'].find((kind) => e[kind] !== undefined);
const TYPES = { file: '0', dir: '5', link: '2', hard: '1' };
const MODES = { file: 0o644, dir: 0o755, link: 0o777, hard: 0o644 };

function plain(e, more = {}) {
  const kind = kindOf(e);
  const slash = kind === 'dir' && !T.bytes(e.dir).toString('latin1').endsWith('/') ? '/' : '';

  return {
    name: Buffer.concat([T.bytes(e[kind]), T.bytes(slash)]), type: TYPES[kind], mode: e.mode ?? MODES[kind], data: e.data,
    link: e.to ?? '', ...more,
  };
}

function inUstar(e) {
  const { name, ...rest } = plain(e);
  const cut = name.length > 100 ? name.lastIndexOf('/', 155) : -1;

  if (cut === -1)
    return T.entry({ name, ...rest });
  return T.entry({ prefix: name.subarray(0, cut), name: name.subarray(cut + 1), ...rest });
}

function inPax(e) {
  const { name, link, ...rest } = plain(e);

  return Buffer.concat([
    T.pax([['path', name], ...(e.to === undefined ? [] : [['linkpath', link]])]),
    T.entry({ name: 'in-pax', link: e.to === undefined ? '' : 'in-pax-too', ...rest }),
  ]);
}

function inGnu(e) {
  const { name, link, ...rest } = plain(e);

  return Buffer.concat([
    ...(e.to === undefined ? [] : [T.gnuLong('K', link)]), T.gnuLong('L', name),
    T.entry({ name: 'in-gnu', link: e.to === undefined ? '' : 'in-gnu-too', ...rest, ...T.GNU }),
  ]);
}

function inZip(e) {
  const { name, type, mode, link, data } = plain(e);

  if (e.link !== undefined)
    return Z.symlink(name, link);
  return { name, data, mode: mode | (type === '5' ? 0o040000 : 0o100000) };
}

const tarOf = (one) => (entries) => T.tar(...entries.map(one));

export const FORMATS = {
  ustar: tarOf(inUstar),
  pax: tarOf(inPax),
  gnu: tarOf(inGnu),
  gz: (entries) => S.gzip(tarOf(inUstar)(entries)),
  zst: (entries) => S.zstd(tarOf(inUstar)(entries)),
  zip: (entries) => Z.zip(entries.map(inZip)),
};
const SUFFIX = { ustar: 'tar', pax: 'tar', gnu: 'tar', tar: 'tar', gz: 'tar.gz', zst: 'tar.zst', zip: 'zip' };
export const ALL = ['ustar', 'pax', 'gnu', 'gz', 'zst', 'zip'];
export const TARS = ['ustar', 'pax', 'gnu', 'gz', 'zst'];

// A table of cases of one class.
export class Table {
  cases = [];

  constructor(kind) {
    this.kind = kind;
  }

  // One archive, built by hand. format: how its file is called. build(ctx) makes its bytes; ctx.outside is a directory
  // outside of DEST, by its absolute name. more: {big: true} runs it in one layout only, {file} another file name.
  one(name, format, build, verdict, more = {}) {
    this.cases.push({
      name: `${this.kind}/${name}`, kind: this.kind, file: more.file ?? `a.${SUFFIX[format]}`, build, verdict, big: false, ...more,
    });
    return this;
  }

  // The same entries in several formats; `entries` may be a function of ctx.
  across(name, formats, entries, verdict, more = {}) {
    for (const format of formats) {
      const build = (ctx) => FORMATS[format](typeof entries === 'function' ? entries(ctx) : entries);

      this.one(`${name}.${format}`, format, build, verdict, more);
    }
    return this;
  }
}

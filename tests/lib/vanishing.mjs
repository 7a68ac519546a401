// SPDX-License-Identifier: Apache-2.0
// Reading what may go between two looks: files that a daemon replaces or removes, what it is just clearing away, groups of the kernel,
// processes (procs.mjs). What is gone is absent, undefined or an empty list, and no error; whatever else is wrong is thrown. So who
// asks that something IS there still fails.

import fs from 'node:fs';
import path from 'node:path';

// ENODEV: the file of a group of the kernel's that was removed while it was open.
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ESRCH', 'ENODEV']);

export const isGone = (e) => GONE.has(e?.code);

export function orGone(look, otherwise) {
  try {
    return look();
  } catch (e) {
    if (!isGone(e))
      throw e;
    return otherwise;
  }
}

export const bytesOf = (file) => orGone(() => fs.readFileSync(file));
export const textOf = (file, encoding = 'utf8') => bytesOf(file)?.toString(encoding);
export const linkOf = (file) => orGone(() => fs.readlinkSync(file));
export const statOf = (file) => orGone(() => fs.lstatSync(file));
export const entriesIn = (dir) => orGone(() => fs.readdirSync(dir, { withFileTypes: true }), []);
export const namesIn = (dir) => orGone(() => fs.readdirSync(dir), []);
export const sizeOf = (file) => statOf(file)?.size;

// A copy of what somebody may still change: made anew as long as something of it goes meanwhile.
export function copyTree(from, to) {
  while (!orGone(() => (fs.cpSync(from, to, { recursive: true }), true), !fs.existsSync(from)))
    fs.rmSync(to, { recursive: true, force: true });
}

// The whole lines of a file that somebody still writes: what stands behind the last end of a line is not whole yet.
export const wholeLines = (file) => textOf(file)?.split('\n').slice(0, -1) ?? [];

// Names of all that is below a directory, relative to it, a directory before what is in it; wanted: (entry) => is this one.
export function namesBelow(dir, wanted = () => true, prefix = '') {
  return entriesIn(path.join(dir, prefix)).flatMap((e) => {
    const name = path.join(prefix, e.name);

    return [...(wanted(e) ? [name] : []), ...(e.isDirectory() ? namesBelow(dir, wanted, name) : [])];
  });
}

// Paths of the files among them.
export const filesBelow = (dir) => namesBelow(dir, (e) => e.isFile()).map((name) => path.join(dir, name));

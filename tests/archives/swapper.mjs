// SPDX-License-Identifier: Apache-2.0
// swapper.mjs UID PARENT OUT NAME... - in PARENT/dest and in every staging directory of PARENT or PARENT/dest, turns
// each directory NAME into a link to OUT and back, as fast as it can, as UID, until it is killed. A dot on standard
// output stands for 50 swaps.

import fs from 'node:fs';

const [uid, parent, out, ...names] = process.argv.slice(2);
const deadline = Date.now() + 60000;
let swaps = 0;

process.setgid(Number(uid));
process.setuid(Number(uid));

// Whatever is not there, or no longer there, is none of our trouble.
function attempt(doing) {
  try {
    doing();
    return true;
  } catch {
    return false;
  }
}

function stages(dir) {
  try {
    return fs.readdirSync(dir).filter((n) => n.startsWith('.acpd-stage-')).map((n) => `${dir}/${n}`);
  } catch {
    return [];
  }
}

function swap(at) {
  if (!attempt(() => fs.renameSync(at, `${at}.away`)))
    return;
  if (attempt(() => fs.symlinkSync(out, at)) && ++swaps % 50 === 0)
    fs.writeSync(1, '.');
  // A while in which the link stands there.
  for (let i = 0; i < 5; i++)
    attempt(() => fs.lstatSync(at));
  attempt(() => fs.unlinkSync(at));
  attempt(() => fs.renameSync(`${at}.away`, at));
}

fs.writeSync(1, 'ready\n');
while (Date.now() < deadline) {
  const dest = `${parent}/dest`;
  const tops = [dest, ...stages(dest), ...stages(parent)];

  for (const top of tops) {
    // The tree may stand in a directory of the staging directory.
    const inner = attempt(() => fs.lstatSync(`${top}/tree`)) ? [`${top}/tree`] : [];

    for (const dir of [top, ...inner])
      names.forEach((name) => swap(`${dir}/${name}`));
  }
  // Now and then the directory itself: the whole target, the whole stage.
  if (swaps % 7 === 0)
    tops.forEach(swap);
}

// SPDX-License-Identifier: Apache-2.0
// A daemon and all below it held, as a host holds a machine: none of them runs, and nobody tells them.
//
//   const f = await Freezer.of(t, d);       // the best that is to be had here: f.kind
//   await f.during(async () => { … });      // they are frozen meanwhile

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import * as procs from './procs.mjs';
import { textOf } from './vanishing.mjs';
import { until } from './wait.mjs';

// By the kernel: the directory, how it is told, and whether it is done.
const HIERARCHIES = [
  { kind: 'the cgroup v1 freezer', root: '/sys/fs/cgroup/freezer', file: 'freezer.state', words: ['FROZEN', 'THAWED'],
    frozen: (dir) => fs.readFileSync(path.join(dir, 'freezer.state'), 'utf8').trim() === 'FROZEN' },
  ...['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].map((root) => ({
    kind: 'cgroup.freeze of cgroup v2', root, file: 'cgroup.freeze', words: ['1', '0'],
    frozen: (dir) => /^frozen 1$/m.test(fs.readFileSync(path.join(dir, 'cgroup.events'), 'utf8')) })),
];

const cold = new Set(); // what is to be thawed should this process end before

process.on('exit', () => cold.forEach((f) => f.thaw()));

const treeOf = (d) => [d.pid, ...d.descendants().map((p) => p.pid)];

export class Freezer {
  // only: 'signals' for SIGSTOP though there is better.
  static async of(t, d, only) {
    const f = Object.assign(new Freezer(), { d, kind: 'SIGSTOP to each' });

    for (const h of only === 'signals' ? [] : HIERARCHIES) {
      if (f.#enter(h, `acpd-test-${d.run}`))
        break;
    }
    t.after(() => f.#leave());
    return f;
  }

  #enter(h, name) {
    const dir = path.join(h.root, name);

    try {
      fs.mkdirSync(dir);
    } catch {
      return false;
    }
    Object.assign(this, { h, dir, kind: h.kind });
    if (fs.existsSync(path.join(dir, h.file)) && this.#take(this.d.pid))
      return true;
    fs.rmdirSync(dir);
    Object.assign(this, { h: undefined, dir: undefined, kind: 'SIGSTOP to each' });
    return false;
  }

  #take(pid) {
    try {
      fs.writeFileSync(path.join(this.dir, 'cgroup.procs'), String(pid));
      return true;
    } catch {
      return false;
    }
  }

  async freeze() {
    cold.add(this);
    if (!this.h) {
      this.stopped = treeOf(this.d);
      for (const pid of this.stopped)
        procs.signal(pid, 'SIGSTOP');
      // it is told at once, and stands still when each of its threads has taken it
      await until(() => this.stopped.every((pid) => procs.threadStatus(pid).every(({ State }) => /^[TtZX]/.test(State))), 'they stand still');
      return;
    }
    // those that it forks from now on are born there
    await until(() => {
      const inside = textOf(path.join(this.dir, 'cgroup.procs')).split('\n').map(Number);
      const outside = treeOf(this.d).filter((pid) => !inside.includes(pid) && procs.alive(pid));

      outside.forEach((pid) => this.#take(pid));
      return !outside.length;
    }, 'all are in the cgroup');
    // Told again at each look: cgroup v1 tells each process once, and one that is in the midst of a fork may miss it.
    await until(() => {
      fs.writeFileSync(path.join(this.dir, this.h.file), this.h.words[0]);
      return this.h.frozen(this.dir);
    }, 'they are frozen');
  }

  thaw() {
    if (this.h)
      fs.writeFileSync(path.join(this.dir, this.h.file), this.h.words[1]);
    for (const pid of this.stopped?.splice(0).reverse() ?? [])
      procs.signal(pid, 'SIGCONT');
    cold.delete(this);
  }

  // They stand still, every one of them, while what() goes on.
  async during(what) {
    try {
      await this.freeze();
      const before = treeOf(this.d).map((pid) => procs.cpu(pid));

      await what();
      assert.deepEqual(treeOf(this.d).map((pid) => procs.cpu(pid)), before, 'one of them has run');
    } finally {
      this.thaw();
    }
  }

  // When the daemon has ended; the hooks of a test run in their order.
  async #leave() {
    if (this.dir)
      await until(() => !fs.readFileSync(path.join(this.dir, 'cgroup.procs'), 'utf8') && (fs.rmdirSync(this.dir), true), 'the cgroup is empty');
  }
}

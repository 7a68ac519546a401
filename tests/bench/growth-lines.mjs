// SPDX-License-Identifier: Apache-2.0
// The kind "bytes of one line of a harness" of growth-kinds.mjs: what the loop works for it, beside the thread that reads it.

import * as procs from '../lib/procs.mjs';
import { KIB, MIB, acpd, memory } from './rig.mjs';

const KINDS = [
  ['message', 'a message of escapes'],
  ['tool', 'a tool call of escapes'],
  ['items', 'a tool\'s output of many values'],
  ['commands', 'a list of commands; over 2 MiB it is refused'],
];
const ROUNDS = 5;

const looped = (pid) => Number(procs.text(pid, `task/${pid}/schedstat`).split(' ')[0]) / 1e6;
const peakOf = (pid) => parseInt(procs.status(pid).VmHWM, 10) * KIB;

async function lines() {
  const target = await acpd({ on: memory });
  const d = target.daemon;
  const c = await d.client({ validate: 'none', record: false });
  const { sessionId } = await c.newSession();

  return {
    async measure(g, bytes) {
      for (const [kind, what] of KINDS) {
        let ms = Infinity;

        procs.clearPeak(d.pid);
        for (let i = 0; i < ROUNDS; i++) {
          const before = looped(d.pid);

          await c.prompt(sessionId, `longline ${kind} ${bytes}; echo end`, { timeout: 120000 });
          ms = Math.min(ms, looped(d.pid) - before);
        }
        g.add(what, { ms, peak: peakOf(d.pid) });
      }
    },
    async close() {
      await c.close();
      await target.stop();
    },
  };
}

export const kind = { title: 'bytes of one line of a harness', amounts: [64 * KIB, MIB, 16 * MIB, 44 * MIB], small: [64 * KIB, MIB], open: lines };

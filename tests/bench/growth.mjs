// SPDX-License-Identifier: Apache-2.0
// How time and memory of an operation grow with what there is: sessions, events of history, files of a workspace, archives, ledger
// records a second. Each operation has a row: its exponent, which is the slope of the least-squares line through the logarithms of
// (amount, time), and its times and peaks at each amount. 0 means that the amount does not matter, 1 that it is proportional.
//
// Time is CPU time of the daemon, all its threads, unless a row says that it is a wall clock's: it is the daemon that may not grow, and a busy
// machine does not change it much. Memory is the peak of the daemon's RSS meanwhile, or of the helper's, where that works.

import { kinds } from './growth-kinds.mjs';
import { KIB, MIB, show } from './rig.mjs';

const LINEAR = 1.1; // a tenth for what caches and weather do
const FLAT = 0.1; // 3 M events beside 1 k: twice the time

// --- exponents -------------------------------------------------------------------------------------

// The slope of the least-squares line through (log x, log y) of what was measured; undefined for less than two points.
export function slope(xs, ys) {
  const points = xs.map((x, i) => [Math.log(x), Math.log(ys[i])]).filter(([, y]) => Number.isFinite(y));
  const mean = (at) => points.reduce((sum, p) => sum + p[at], 0) / points.length;
  const [mx, my] = [mean(0), mean(1)];
  const sum = (f) => points.reduce((all, [x, y]) => all + f(x - mx, y - my), 0);

  return points.length < 2 ? undefined : sum((x, y) => x * y) / sum((x) => x * x);
}

const short = (n) => n >= 1e6 ? `${n / 1e6} M` : n >= 1e3 ? `${n / 1e3} k` : `${n}`;
const time = (ms) => ms >= 1000 ? show.s(ms) : ms >= 1 ? `${ms.toFixed(1)} ms` : show.us(ms * 1000);
const size = (bytes) => bytes >= 10 * MIB ? `${(bytes / MIB).toFixed(0)} MiB` : bytes >= MIB ? `${(bytes / MIB).toFixed(1)} MiB` : `${(bytes / KIB).toFixed(0)} KiB`;
const list = (xs, ys, text) => xs.map((x, i) => ys[i] > 0 ? `${short(x)}: ${text(ys[i])}` : undefined).filter(Boolean).join(', ');
const exponent = (v) => v === undefined ? '-' : v.toFixed(2);

// What was measured of one kind of amount: at(amount) takes rows, each operation by its name.
class Growth {
  #ops = new Map();
  #amounts = [];

  at(amount) {
    this.#amounts.push(amount);
  }

  // flat: it may not depend on the amount; else it may be proportional. m: {ms, peak?}.
  add(what, m, { flat = false, note = '' } = {}) {
    const op = this.#ops.get(what) ?? { flat, note, xs: [], ms: [], peak: [] };

    this.#ops.set(what, op);
    op.xs.push(this.#amounts.at(-1));
    op.ms.push(m.ms);
    op.peak.push(m.peak);
  }

  print(table) {
    let most;

    for (const [what, op] of this.#ops) {
      const [t, m] = [slope(op.xs, op.ms), slope(op.xs, op.peak)];
      const last = slope(op.xs.slice(-2), op.ms.slice(-2));

      if (m !== undefined && !(most?.m > m))
        most = { m, what };
      if (t !== undefined)
        table.add({ what, unit: 'exponent', value: t, bar: op.flat ? FLAT : LINEAR,
          note: [`last step ${exponent(last)}`, list(op.xs, op.ms, time), `peak ${list(op.xs, op.peak, size)} (${exponent(m)})`, op.note].filter(Boolean).join('; ') });
    }
    if (most)
      table.add({ what: 'memory, the largest exponent', unit: 'exponent', value: most.m, bar: LINEAR, note: most.what });
  }
}

// --- all of it -----------------------------------------------------------------------------------------

// What fails or has no room is left out, and said. GROWTH=files: only the kinds whose title has that. BENCH_TIMES=1: also what each point has
// taken.
export async function growth(table, quick) {
  for (const { title, amounts, small, open } of kinds.filter((k) => k.title.includes(process.env.GROWTH ?? ''))) {
    const g = new Growth();
    const kind = await open();

    table.section(`growth: ${title}`);
    for (const n of quick ? small : amounts) {
      const began = performance.now();

      g.at(n);
      try {
        await kind.measure(g, n);
      } catch (e) {
        console.log(`left out: ${short(n)}: ${e.message.trim().split('\n')[0]}`);
      }
      if (process.env.BENCH_TIMES)
        console.log(`${title}, ${short(n)}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    }
    await kind.close?.();
    g.print(table);
  }
}

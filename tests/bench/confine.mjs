// SPDX-License-Identifier: Apache-2.0
// What confinement costs: the filter of each level, in calls and in starts, beside a filter that allows everything (filter.c).

import { figures, program } from './rig.mjs';

export async function confine(table, n) {
  const { call, ioctl, start, make_ms: make } = await figures(program('filter'), [n.rounds, n.calls]);
  const row = (what, unit, of, level, bar) => table.add({
    what: `${level}: ${what}`, unit, value: (of[level] - of.none), bar,
    refs: [{ name: 'a filter that allows all', value: of.any - of.none }],
    note: `${of.none.toFixed(0)} without`,
  });

  table.section('a filter of system calls');
  for (const level of ['guarded', 'strict']) {
    row('added to a call that no row names', 'ns', call, level, 40);
    row('added to a call whose arguments count', 'ns', ioctl, level);
    row('added to fork and exit', 'us', start, level);
  }
  table.add({ what: 'making one, once in a daemon', unit: 'ms', value: make });
}

// SPDX-License-Identifier: Apache-2.0
// The relay of MCP tool calls: a call through the daemon to the orchestrator, beside the same call to the same server without both
// (bench/mcp.c). What the relay adds is the difference of the medians of one round.

import path from 'node:path';
import { ACPD, acpd, best, figures, program } from './rig.mjs';

const SERVER = path.join(path.dirname(ACPD), 'mcp-fixture');
const AT_ONCE = 64;

const run = (work, params, args = []) => figures(program('mcp'),
  [work, ...Object.entries(params).map(([k, v]) => `${k}=${v}`), ...args, '--', SERVER]);

async function relayed(params) {
  const target = await acpd();

  try {
    return await run('relayed', params, target.args);
  } finally {
    await target.stop();
  }
}

// Rounds of both, by turns, so that both see the same weather.
async function both(rounds, params) {
  const [direct, through] = [[], []];

  for (let i = 0; i < rounds; i++) {
    direct.push(await run('direct', params));
    through.push(await relayed(params));
  }
  return [direct, through];
}

export async function relay(table, { rounds, calls }) {
  const [direct, through] = await both(rounds, { n: calls });
  const of = (results, key) => best(results, key);
  const beside = (key) => [{ name: 'direct', value: of(direct, key) }];

  table.section(`an MCP tool call through the relay, one after the other, ${calls} each, best of ${rounds} rounds`);
  table.add({ what: 'p50', unit: 'us', value: of(through, 'p50_us'), refs: beside('p50_us') });
  table.add({ what: 'p50, what the relay adds', unit: 'us', value: of(through, 'p50_us') - of(direct, 'p50_us'), bar: 300 });
  table.add({ what: 'p99', unit: 'us', value: of(through, 'p99_us'), refs: beside('p99_us') });
  table.add({ what: 'CPU of the daemon each', unit: 'us', value: of(through, 'cpu_us') });

  const [wideDirect, wide] = await both(rounds, { n: calls * 2, width: AT_ONCE });
  const rate = (results) => best(results, 'per_s', Math.max);

  table.section(`${AT_ONCE} calls at once`);
  table.add({ what: 'calls', unit: 'each', value: rate(wide), refs: [{ name: 'direct', value: rate(wideDirect) }] });
  table.add({ what: 'p50 of a call', unit: 'us', value: of(wide, 'p50_us'), refs: [{ name: 'direct', value: of(wideDirect, 'p50_us') }] });
  table.add({ what: 'p99 of a call', unit: 'us', value: of(wide, 'p99_us'), refs: [{ name: 'direct', value: of(wideDirect, 'p99_us') }] });
  table.add({ what: 'CPU of the daemon each', unit: 'us', value: of(wide, 'cpu_us') });
}

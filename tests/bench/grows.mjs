// SPDX-License-Identifier: Apache-2.0
// What grows: how much of the daemon an agent or a peer can make its own. A row is one hostile shape, made with real parts, and the bound
// that must hold; each has a daemon of its own. rows: [name, measure]; measure(table) adds what it found.

import { crowd } from '../lib/crowd.mjs';
import { Daemon } from '../lib/daemon.mjs';
import { halfLine, relayed } from '../lib/half-lines.mjs';
import { MIB } from './rig.mjs';

const CROWD = 5000;

async function withDaemon(opts, body) {
  const d = await Daemon.start(opts);

  try {
    return await body(d);
  } finally {
    await d.stop();
  }
}

// The worst of some.
async function worst(n, fn) {
  let most = 0;

  for (let i = 0; i < n; i++) {
    const began = performance.now();

    await fn();
    most = Math.max(most, performance.now() - began);
  }
  return most;
}

const newcomers = (table) => withDaemon({}, async (d) => {
  for (const [what, where] of [['TCP', d.port], ['acp.sock', d.acpSocket]]) {
    const others = await crowd(CROWD, where);

    table.add({
      what: `a newcomer is served beside ${CROWD} silent: ${what}`, unit: 'ms', bar: 1000,
      value: await worst(5, async () => { await (await d.client()).close(); }),
      note: `worst of 5; ${others.open} of them still open`,
    });
    others.end();
  }
});

const halfLines = (table) => withDaemon({}, async (d) => {
  const { o, given } = await relayed(d);
  let most = 0;
  const watch = setInterval(() => { most = Math.max(most, d.rss()); }, 5);
  const many = Array.from({ length: 40 }, () => halfLine(given, 48 * MIB));

  await Promise.all(many.map((c) => c.written));
  clearInterval(watch);
  table.add({ what: 'memory with 40 half lines on an MCP socket', unit: 'mib', value: most, bar: 32 * MIB });
  for (const c of many)
    c.socket.destroy();
  await o.close();
});

const rows = [
  ['newcomers', newcomers],
  ['half lines', halfLines],
];

export async function grows(table) {
  table.section('what grows');
  for (const [, measure] of rows)
    await measure(table);
}

// SPDX-License-Identifier: Apache-2.0
// What grows: how much of the daemon an agent or a peer can make its own. A row is one hostile shape, made with real parts, and the bound
// that must hold; each has a daemon of its own. rows: [name, measure]; measure(table) adds what it found.

import { crowd } from '../lib/crowd.mjs';
import { Daemon, STUB } from '../lib/daemon.mjs';
import { halfLine, relayed } from '../lib/half-lines.mjs';
import { sleep } from '../lib/rawws.mjs';
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

// Environments of 1 MB: a variable may have 128 KiB.
const BIG = 'v=$(head -c 125000 /dev/zero | tr "\\0" x); export a=$v b=$v c=$v d=$v e=$v f=$v g=$v h=$v';
const MANY = 1500;
const manyProcesses = {
  id: 'many', command: '/bin/sh',
  args: ['-c', `${BIG}; for i in $(seq ${MANY}); do sleep 600 & done; unset a b c d e f g h v; exec ${STUB} "$@"`, 'sh'],
};

// The loop's pause as a client sees it: the longest wait for /health, beside which all else of this machine counts, too.
const bigProcesses = (table) => withDaemon({ harnesses: [manyProcesses] }, async (d) => {
  const c = await d.client();
  const { sessionId } = await c.newSession();
  let over = false, most = 0;

  await c.newSession({ meta: { harness: 'many' } });
  while (d.descendants().length <= MANY)
    await sleep(50);
  const closed = c.call('session/close', { sessionId }, { timeout: 60000 }).finally(() => { over = true; });
  while (!over)
    most = Math.max(most, await worst(1, () => d.http('/health')));
  await closed;
  table.add({ what: `worst loop pause, closing a session beside ${MANY} processes with 1 MB environments`, unit: 'ms', bar: 10, value: most,
    note: 'longest wait for /health' });
  await c.close();
});

const rows = [
  ['newcomers', newcomers],
  ['half lines', halfLines],
  ['processes', bigProcesses],
];

export async function grows(table) {
  table.section('what grows');
  for (const [, measure] of rows)
    await measure(table);
}

// SPDX-License-Identifier: Apache-2.0
// What one stream through acpd-proxy is like, beside the same straight from its server (tunnel.c).

import http from 'node:http';
import { once } from 'node:events';
import { available, listen, Proxy, raw } from '../lib/egress.mjs';
import { figures, launch, program, sleep, stop } from './rig.mjs';

// How long requests of another session take, one after the other, until the work is over.
async function requests(door, port, work) {
  const took = [];
  let over = false;

  work.finally(() => { over = true; });
  while (!over) {
    const at = performance.now();
    const text = await raw(door.port, `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`, { keep: true });

    if (!text.startsWith('HTTP/1.1 200'))
      throw new Error(text);
    took.push(performance.now() - at);
  }
  await work;
  took.sort((a, b) => a - b);
  return took;
}

const BAR = 300e6; // bytes a second
const share = (list, part) => list[Math.floor((list.length - 1) * part)];

// The requests of another session beside the stream, beside the same straight, which takes processors too, and with none: in turn.
async function others(proxy, port, stream, n) {
  const door = await proxy.open({ mode: 'allowlist', allow: [{ host: '127.0.0.1', ports: [port] }] });
  const took = { paced: [], pacedStraight: [], beside: [], straight: [], alone: [] };

  for (let i = 0; i < n.rounds; i++) {
    const begun = performance.now();

    took.paced.push(...await requests(door, port, stream('through', BAR)));
    took.pacedStraight.push(...await requests(door, port, stream('straight', BAR)));
    took.beside.push(...await requests(door, port, stream('through')));
    took.straight.push(...await requests(door, port, stream('straight')));
    took.alone.push(...await requests(door, port, sleep((performance.now() - begun) / 4)));
  }
  for (const list of Object.values(took))
    list.sort((a, b) => a - b);
  return took;
}

export async function egress(table, n) {
  if (!available)
    return;
  const far = launch(program('tunnel'), ['0', '0', '0'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = Number(await once(far.stdout, 'data'));
  const small = http.createServer((req, res) => res.end('x'));
  const smallPort = await listen(small);
  const proxy = Proxy.start({ allow: [port, smallPort].map((p) => `127.0.0.1:${p}`) });
  const door = await proxy.open({ mode: 'allowlist', allow: [{ host: '127.0.0.1', ports: [port] }] });
  const best = { straight: 0, through: 0 };

  for (let i = 0; i < n.rounds; i++) {
    const got = await figures(program('tunnel'), [port, door.port, n.mib]);
    for (const way of Object.keys(best))
      best[way] = Math.max(best[way], got[way]);
  }
  const { paced, pacedStraight, beside, straight, alone } = await others(proxy, smallPort,
    (way, pace) => figures(program('tunnel'), [port, door.port, pace ? n.mib / 4 : n.mib, way, ...(pace ? [pace] : [])]), n);
  await proxy.stop();
  small.close();
  await stop(far);
  table.section('what a session calls by itself');
  table.add({
    what: 'one stream through acpd-proxy', unit: 'bytes', value: best.through, bar: BAR, atLeast: true,
    refs: [{ name: 'straight', value: best.straight }],
  });
  for (const [name, part] of [['p50', 0.5], ['p99', 0.99]]) {
    table.add({
      what: `a request of another session beside 300 MB/s, ${name}`, unit: 'ms', value: share(paced, part),
      bar: part === 0.99 ? 2 * share(alone, part) : undefined, refs: [{ name: 'with none', value: share(alone, part) }, { name: 'the stream straight', value: share(pacedStraight, part) }],
      note: `of ${paced.length}`,
    });
    table.add({
      what: `the same beside all that passes, ${name}`, unit: 'ms', value: share(beside, part), refs: [{ name: 'with none', value: share(alone, part) }, { name: 'the stream straight', value: share(straight, part) }],
      note: `of ${beside.length}`,
    });
  }
}

// SPDX-License-Identifier: Apache-2.0
// What one stream through acpd-proxy is like, beside the same straight from its server (tunnel.c).

import { once } from 'node:events';
import { available, Proxy } from '../lib/egress.mjs';
import { figures, launch, program, stop } from './rig.mjs';

export async function egress(table, n) {
  if (!available)
    return;
  const far = launch(program('tunnel'), ['0', '0', '0'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = Number(await once(far.stdout, 'data'));
  const proxy = Proxy.start({ allow: [`127.0.0.1:${port}`] });
  const door = await proxy.open({ mode: 'allowlist', allow: [{ host: '127.0.0.1', ports: [port] }] });
  const best = { straight: 0, through: 0 };

  for (let i = 0; i < n.rounds; i++) {
    const got = await figures(program('tunnel'), [port, door.port, n.mib]);
    for (const way of Object.keys(best))
      best[way] = Math.max(best[way], got[way]);
  }
  await proxy.stop();
  await stop(far);
  table.section('what a session calls by itself');
  table.add({
    what: 'one stream through acpd-proxy', unit: 'bytes', value: best.through, bar: 300e6, atLeast: true,
    refs: [{ name: 'straight', value: best.straight }],
  });
}

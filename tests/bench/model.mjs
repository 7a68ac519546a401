// SPDX-License-Identifier: Apache-2.0
// A streamed model call through the daemon, beside the same call without it (bench/model.c). What a way adds is the difference of the
// medians of one round. A way that the daemon does not take, or has no program for, is left out, in words.

import { AcpClient } from '../lib/acp.mjs';
import { listenerOf, STUB_WITH_PROVIDER } from '../lib/model-calls.mjs';
import { best, acpd, figures, freePort, program, STUB } from './rig.mjs';

const MS = 1000; // µs
const BARS = { tunnel: { piece: 0.3 * MS }, direct: { piece: 0.2 * MS, first: MS } };

const run = (way, params) => figures(program('model'), [way, ...Object.entries(params).map(([k, v]) => `${k}=${v}`)]);

async function bare(params) {
  const port = await freePort();

  return run('bare', { harness: `127.0.0.1:${port}`, provider: port, ...params });
}

// A daemon with one session whose calls go this way.
async function open(way) {
  const provider = await freePort();
  const target = await acpd({ harness: { id: STUB_WITH_PROVIDER.id, quirks: STUB_WITH_PROVIDER.quirks, command: STUB, args: ['--no-store'] } });
  const c = await AcpClient.connect(target.daemon, {});

  try {
    await c.initialize({ caps: { _meta: { acpd: { model: { apis: ['openai-chat'] } } } } });
    const { sessionId } = await c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: 'openai-chat', model: 'stub-small', via: way,
      ...(way === 'direct' && { baseUrl: `http://127.0.0.1:${provider}/v1`, key: 'sk-bench-00000001' }) } } });
    const { url, key } = listenerOf(sessionId);
    const stop = async () => {
      await c.close();
      await target.stop();
    };

    return { provider, stop, target, args: { harness: url.host, key, session: sessionId, provider, daemon: target.pid, port: target.daemon.port,
      token: target.daemon.tokenFile } };
  } catch (e) {
    await target.stop();
    throw e;
  }
}

async function through(way, params) {
  const t = await open(way);

  try {
    return await run(way, { ...t.args, ...params });
  } finally {
    await t.stop();
  }
}

// Rounds of both, by turns, so that both see the same weather.
async function both(way, rounds, params) {
  const [plain, ours] = [[], []];

  for (let i = 0; i < rounds; i++) {
    plain.push(await bare(params));
    ours.push(await through(way, params));
  }
  return [plain, ours];
}

async function oneWay(table, way, { rounds, calls, pieces, mib }) {
  const [plain, ours] = await both(way, rounds, { calls, n: pieces });
  const row = (what, key) => table.add({ what, unit: 'us', value: best(ours, key), refs: [{ name: 'bare', value: best(plain, key) }] });
  const added = (what, key, bar) => table.add({ what, unit: 'us', value: best(ours, key) - best(plain, key), bar });

  table.section(`a model call via ${way}: ${calls} calls of 40 KiB, ${pieces} pieces of 200 B each, best of ${rounds} rounds`);
  row('a piece, p50', 'p50_us');
  added('a piece, p50, added', 'p50_us', BARS[way].piece);
  row('a piece, p99', 'p99_us');
  row('the first byte, p50', 'first_p50_us');
  added('the first byte, p50, added', 'first_p50_us', BARS[way].first);
  row('the first byte, p99', 'first_p99_us');
  table.add({ what: 'CPU of the daemon and its helper, each piece', unit: 'us', value: best(ours, 'cpu_us') });
  for (const size of [200, 4000]) {
    const [free, bulk] = await both(way, Math.min(rounds, 3), { mib, size });

    table.add({ what: `CPU each MB, pieces of ${size} B`, unit: 'ms', value: best(bulk, 'cpu_ms_per_mb') });
    table.add({ what: `MB a second, pieces of ${size} B`, unit: 'each', value: best(bulk, 'mb_per_s', Math.max),
      refs: [{ name: 'bare', value: best(free, 'mb_per_s', Math.max) }] });
  }
}

export async function modelCalls(table, sizes) {
  for (const way of ['tunnel', 'direct']) {
    try {
      await oneWay(table, way, sizes);
    } catch (e) {
      console.log(`left out: model calls via ${way}: ${e.message.includes('\n') ? 'why stands above' : e.message}`);
    }
  }
}

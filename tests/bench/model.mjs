// SPDX-License-Identifier: Apache-2.0
// A streamed model call through the daemon, beside the same call without it (bench/model.c). What a way adds is the difference of the
// medians of one round. A way that the daemon does not take, or has no program for, is left out, in words.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { AcpClient } from '../lib/acp.mjs';
import { listenerOf, STUB_WITH_PROVIDER } from '../lib/model-calls.mjs';
import * as procs from '../lib/procs.mjs';
import { until } from '../lib/wait.mjs';
import { best, acpd, figures, freePort, MIB, program, scratch, STUB } from './rig.mjs';

const MS = 1000; // µs
const BARS = { tunnel: { piece: 0.3 * MS }, direct: { piece: 0.2 * MS, first: MS } };

const run = (way, params) => figures(program('model'), [way, ...Object.entries(params).map(([k, v]) => `${k}=${v}`)]);

async function bare(params) {
  const port = await freePort();

  return run('bare', { harness: `127.0.0.1:${port}`, provider: port, ...params });
}

// A daemon with one session whose calls go this way; url: of the provider, if that is none of ours.
async function open(way, { url: own, limits, ...flags } = {}) {
  const provider = await freePort();
  const target = await acpd({ ...flags, harness: { id: STUB_WITH_PROVIDER.id, quirks: STUB_WITH_PROVIDER.quirks, command: STUB, args: ['--no-store'] } });
  const c = await AcpClient.connect(target.daemon, {});

  try {
    await c.initialize({ caps: { _meta: { acpd: { model: { apis: ['openai-chat'] } } } } });
    const { sessionId } = await c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: 'openai-chat', model: 'stub-small', via: way,
      ...(way === 'direct' && { limits, baseUrl: `${own ?? `http://127.0.0.1:${provider}`}/v1`, key: 'sk-bench-00000001' }) } } });
    const { url, root, key } = listenerOf(sessionId);
    const stop = async () => {
      await c.close();
      await target.stop();
    };

    return { stop, target, root, key, args: { harness: url.host, key, session: sessionId, provider, daemon: target.pid, port: target.daemon.port,
      token: target.daemon.tokenFile } };
  } catch (e) {
    await target.stop();
    throw e;
  }
}

// acpd-fetch, which starts with the first call.
const helperOf = ({ target }) => procs.descendants(target.pid).find(({ comm }) => comm === 'acpd-fetch');

async function through(way, params) {
  const t = await open(way);

  try {
    if (way === 'direct')
      await run(way, { ...t.args, calls: 1, n: 1 });
    return await run(way, { ...t.args, ...(way === 'direct' && { fetch: helperOf(t).pid }), ...params });
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

// A provider behind TLS, with a certificate of its own, whose streams have no end.
async function secureProvider() {
  const [key, cert] = ['key', 'cert'].map((name) => path.join(scratch, `${name}.pem`));

  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=bench',
    '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const server = https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: {}\n\n');
  });
  await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
  return { server, cert, url: `https://127.0.0.1:${server.address().port}` };
}

// So many streams at once, up to their first piece: {stop()}.
async function streams({ root, key }, n) {
  const abort = new AbortController();
  const begin = async () => {
    const answer = await fetch(`${root}/v1/chat/completions`, { method: 'POST', signal: abort.signal, headers: { authorization: `Bearer ${key}`,
      'content-type': 'application/json' }, body: '{"model":"stub-small","stream":true}' });

    return answer.body.getReader().read();
  };

  await Promise.all(Array.from({ length: n }, begin));
  return () => abort.abort();
}

// The helper's own memory, in pages that it has written to.
async function helperMemory(table) {
  const provider = await secureProvider();
  const t = await open('direct', { url: provider.url, caFile: provider.cert, limits: { concurrency: 32 } });
  const dirty = async () => procs.privateDirty((await until(() => helperOf(t), 'the helper')).pid);
  const row = (what, value, bar) => table.add({ what, unit: 'mib', value, bar });

  try {
    (await streams(t, 1))();
    row('private memory of acpd-fetch, after one call', await dirty());
    const stop = await streams(t, 16);
    row('private memory of acpd-fetch, 16 streams over TLS', await dirty(), 5 * MIB);
    stop();
  } finally {
    await t.stop();
    provider.server.closeAllConnections();
    provider.server.close();
  }
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
      if (way === 'direct')
        await helperMemory(table);
    } catch (e) {
      console.log(`left out: model calls via ${way}: ${e.message.includes('\n') ? 'why stands above' : e.message}`);
    }
  }
}

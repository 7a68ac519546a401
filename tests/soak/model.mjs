// SPDX-License-Identifier: Apache-2.0
// make soak: SOAK_STREAMS model calls at once for SOAK_SECS seconds, of as many sessions as they need, through VIA (tunnel or direct).
// Answers are read to the end, cut by the provider, refused, left lying by a slow reader, cancelled by the harness; with the tunnel the
// client's connection is cut as well, and another takes its place. It fails if a call is lost or answered wrongly, if the daemon's
// memory or descriptors grow, or if something stays when all is over. SEED repeats a run's chance.

import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { ModelTunnel } from '../../images/model-tunnel.ts';
import { chance } from '../lib/chance.mjs';
import { Daemon } from '../lib/daemon.mjs';
import { mib } from '../lib/memory.mjs';
import * as procs from '../lib/procs.mjs';
import { listenerOf, STUB_WITH_PROVIDER } from '../lib/model-calls.mjs';
import { connectSdk } from '../lib/sdk.mjs';
import { until } from '../lib/wait.mjs';
import { answerOf, call, Provider } from './rig.mjs';

const { SOAK_SECS = '1200', SOAK_STREAMS = '500', VIA = 'tunnel', SEED = String(Date.now() % 100_000) } = process.env;
const [secs, streams] = [Number(SOAK_SECS), Number(SOAK_STREAMS)];
const PER_SESSION = 8; // MODEL_CALLS_MAX of daemon/base/limits.h
const KEY = 'sk-soak-00000001';
const CONNECTION_CUT_SECS = 15; // a connection that makes model calls is cut so often
const GROWTH_MAX = 4 << 20; // bytes that the daemon may be larger at the end than after the warm-up
const FLAT_AFTER_SECS = 180; // until then all streams have had their largest answers; a run that ends sooner says nothing of memory
const random = chance(Number(SEED));
const between = (from, to) => from + Math.floor(random() * (to - from));

// share of the calls, what the provider does, what the harness does, how it must end. A call whose connection was cut ends so, too.
const KINDS = [
  { name: 'whole', share: 60, body: () => ({ act: 'stream', pieces: between(20, 200), ms: 100 }), ends: 'whole' },
  { name: 'burst', share: 8, body: () => ({ act: 'stream', pieces: between(3000, 8000), ms: 0 }), ends: 'whole' },
  { name: 'slow reader', share: 8, body: () => ({ act: 'stream', pieces: between(4000, 8000), ms: 0 }), how: { slow: 700 }, ends: 'whole' },
  { name: 'cut by the provider', share: 8, body: () => ({ act: 'cut', pieces: between(10, 100), ms: 50 }), ends: 'cut' },
  { name: 'cancelled', share: 8, body: () => ({ act: 'stream', pieces: 1000, ms: 50 }), how: { cancelAt: 3000 }, ends: 'cancelled' },
  { name: 'refused', share: 8, body: () => ({ act: 'refused' }), ends: '429' },
];

function chooseKind() {
  let left = random() * KINDS.reduce((sum, { share }) => sum + share, 0);

  return KINDS.find(({ share }) => (left -= share) < 0);
}

const tally = Object.fromEntries(KINDS.map(({ name }) => [name, { begun: 0, ended: 0, connectionCut: 0 }]));
const faults = [];
const failed = { asked: 0, answered: 0 }; // requests of the tunnel's client that its own HTTP gave up, and calls that ended so: 502
let cuts = 0; // of connections, and the time of the last
let bytes = 0;
let stopping = false;

// A stream of the harness: one call after the other, on a connection of each call's own or on one for all.
async function stream(listener, keepAlive) {
  const agent = new http.Agent({ keepAlive, maxSockets: 1 });

  while (!stopping) {
    const kind = chooseKind();
    const body = kind.body();
    const cutsBefore = cuts;
    const row = tally[kind.name];

    row.begun++;
    const { how, bytes: got } = await call(listener, agent, body, kind.how);
    row.ended++;
    bytes += got;
    if (how === 'cut' && kind.ends !== 'cut' && cuts > cutsBefore)
      row.connectionCut++;
    else if (how === '502' && VIA === 'tunnel')
      failed.answered++;
    else if (how !== kind.ends || (how === 'whole' && got !== Buffer.byteLength(answerOf(body.pieces))))
      faults.push(`${kind.name}: ${how} after ${got} bytes of ${JSON.stringify(body)}`);
    if (how !== 'whole' && how !== '429')
      await sleep(50);
  }
  agent.destroy();
}

// A machine that is too busy lets a request of the client fail, e.g. by its time to connect. Then the harness must be told so.
function watchFetch() {
  const { fetch } = globalThis;

  globalThis.fetch = (url, init) => fetch(url, init).catch((e) => {
    failed.asked += e.name === 'AbortError' ? 0 : 1;
    throw e;
  });
}

// Who makes the calls of these sessions with the tunnel: a connection for model calls only, and another as soon as it is cut.
class Takers {
  constructor(daemon, provider) {
    this.daemon = daemon;
    this.tunnel = new ModelTunnel({ 'openai-chat': { baseUrl: provider.url, headers: { authorization: `Bearer ${KEY}` } } });
  }

  async take(sessionIds) {
    this.sessionIds = sessionIds;
    this.sdk = await connectSdk(this.daemon, { tunnel: this.tunnel });
    await this.sdk.initialize({ acpd: { model: { ...this.tunnel.capability, only: true } } });
    await this.sdk.request('_acpd/model/attach', { sessionIds });
  }

  async cut() {
    cuts++;
    this.sdk.seen.socket.terminate();
    await this.take(this.sessionIds);
  }
}

async function openSessions(daemon, provider, driver) {
  const meta = { harness: STUB_WITH_PROVIDER.id, provider: { api: 'openai-chat', model: 'stub-small', via: VIA,
    ...(VIA === 'direct' && { baseUrl: `${provider.url}/v1`, key: KEY }) } };
  const ids = [];

  for (let i = 0; i < Math.ceil(streams / PER_SESSION); i++)
    ids.push((await driver.newSession({ meta })).sessionId);
  return ids;
}

const sum = (what) => Object.values(tally).reduce((n, row) => n + row[what], 0);
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

watchFetch();
const provider = await Provider.start();
const daemon = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER], flags: { harnessMax: 1000 } });
const takers = new Takers(daemon, provider);
const driver = await connectSdk(daemon, { tunnel: takers.tunnel }); // is asked while there is no other

await driver.initialize({ acpd: { model: takers.tunnel.capability } });
const sessionIds = await openSessions(daemon, provider, driver);
if (VIA === 'tunnel')
  await takers.take(sessionIds);
const listeners = sessionIds.map((id) => listenerOf(id));
await call(listeners[0], new http.Agent(), { act: 'refused' }); // with direct that starts the helper
const helper = daemon.descendants().find(({ comm }) => comm === 'acpd-fetch');
const descriptors = daemon.fdCount();
const rss = () => daemon.rss() + (helper ? procs.rss(helper.pid) : 0);

console.log(`${streams} streams of ${sessionIds.length} sessions for ${secs} s, via ${VIA}, SEED=${SEED}; ${mib(rss())} MiB before`);
const started = Date.now();
const running = Array.from({ length: streams }, (_, i) => stream(listeners[Math.floor(i / PER_SESSION)], i % 2 === 0));
const samples = []; // [s, RSS], with the helper's
const cpuBefore = daemon.cpu();
let nextCut = CONNECTION_CUT_SECS;
let told = 0;
for (let at = 0; at < secs; at = (Date.now() - started) / 1000) {
  await sleep(500);
  samples.push([at, rss()]);
  if (Math.floor(at * 20 / secs) > told)
    console.log(`${String(Math.round(at)).padStart(5)} s: ${mib(rss())} MiB, ${sum('ended')} calls, ${cuts} connections cut, ${faults.length} faults (${(++told)} of 20)`);
  if (VIA === 'tunnel' && at > nextCut) {
    nextCut += CONNECTION_CUT_SECS;
    await takers.cut();
  }
  assert.equal(daemon.exit, undefined, `the daemon has ended\n${daemon.stderr.slice(-4000)}`);
}
const cpu = daemon.cpu() - cpuBefore;
stopping = true;
await Promise.all(running);

const part = (from, to) => median(samples.filter(([at]) => at >= from && at <= to).map(([, rss]) => rss));
const long = secs >= 1.5 * FLAT_AFTER_SECS;
const warm = part(long ? FLAT_AFTER_SECS : secs * 0.4, long ? FLAT_AFTER_SECS + 30 : secs * 0.6);
const last = part(secs * 0.9, secs);

console.table(tally);
console.log(`${failed.asked} requests of the client failed, ${failed.answered} calls ended so`);
console.log(`${sum('ended')} calls, ${mib(bytes)} MiB, ${cuts} connections cut, ${(cpu * 1e3 / (bytes / 1e6)).toFixed(1)} ms of CPU each MB`);
console.log(`RSS ${mib(warm)} MiB after the warm-up, ${mib(last)} MiB at the end, ${mib(Math.max(...samples.map(([, rss]) => rss)))} MiB at most`);

assert.deepEqual(faults.slice(0, 10), [], `${faults.length} calls ended otherwise than they must`);
assert.ok(failed.answered <= failed.asked, `${failed.answered} calls ended with 502, ${failed.asked} requests of the client failed`);
assert.equal(sum('begun'), sum('ended'));
assert.ok(!long || last - warm < GROWTH_MAX, `the daemon has grown by ${mib(last - warm)} MiB`);
await until(() => provider.open === 0 && takers.tunnel.open === 0, 'no call is left');
await until(() => daemon.fdCount() <= descriptors, `descriptors as before: ${descriptors}, are ${daemon.fdCount()}`);
console.log(`descriptors ${descriptors} before, ${daemon.fdCount()} after; RSS ${mib(rss())} MiB`);
for (const sessionId of sessionIds)
  await driver.request('session/close', { sessionId });
await driver.close();
if (VIA === 'tunnel')
  await takers.sdk.close();
await provider.close();
await daemon.stop(); // no process of it is left
console.log('soak: everything ended as it must');
process.exit(0);

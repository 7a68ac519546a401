// SPDX-License-Identifier: Apache-2.0
// Archives through a daemon: upload and a session whose workspace is the archive, beside `curl | tar x` of the same file from
// a small file server; a second session of it; the memory of daemon and helper meanwhile; and the round trip of another session
// while archives are uploaded and unpacked.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import * as procs from '../lib/procs.mjs';
import { MIB, acpd, client, launch, memory, sleep } from './rig.mjs';
import { has } from './trees.mjs';

const SECOND = 0.6; // of upload and first session, for a tar.gz
const PEAK = 32 * MIB;
const TURN_P99 = 5000; // µs

const HELPER = 'acpd-unpack';
const unpackers = { tar: 'tar x', 'tar.gz': 'tar xz', 'tar.zst': 'tar x --zstd' };

async function digestOf(file) {
  const hash = createHash('sha256');

  await pipeline(fs.createReadStream(file, { highWaterMark: MIB }), hash);
  return `sha256:${hash.digest('hex')}`;
}

async function run(...argv) {
  const child = launch(argv[0], argv.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
  const { code } = await child.ended;

  if (code !== 0)
    throw new Error(`${argv.join(' ')}: ${code}`);
}

// --- memory -------------------------------------------------------------------------------------------

const childrenOf = (pid) => procs.children(pid).flatMap((child) => [child, ...childrenOf(child)]);

function status(pid) {
  const { Name: name, VmHWM: peak } = procs.status(pid) ?? {};

  return peak && { name, peak: parseInt(peak, 10) * 1024 };
}

// The peak of the daemon, and the largest sum of the peaks of helper processes that lived at the same time, while fn runs.
async function peaksWhile(daemon, fn) {
  let helper = 0;
  const timer = setInterval(() => {
    const now = childrenOf(daemon).map(status).filter((s) => s?.name === HELPER);

    helper = Math.max(helper, now.reduce((sum, s) => sum + s.peak, 0));
  }, 3);

  procs.clearPeak(daemon);
  try {
    await fn();
  } finally {
    clearInterval(timer);
  }
  return { daemon: status(daemon).peak, helper };
}

// --- a daemon and its client ----------------------------------------------------------------------------

class Side {
  #n = 0;

  static async open(dir) {
    const side = new Side();

    Object.assign(side, { dir, target: await acpd({ on: memory }) });
    side.client = await side.target.daemon.client({ validate: 'none', record: false });
    return side;
  }

  get daemon() {
    return this.target.daemon;
  }

  upload(a) {
    const { port, tokenFile } = this.daemon;
    const header = path.join(this.dir, 'header');

    fs.writeFileSync(header, `Authorization: Bearer ${fs.readFileSync(tokenFile, 'utf8').trim()}\nExpect:\n`);
    return run('curl', '-sS', '-f', '-o', '/dev/null', '-H', `@${header}`, '-T', a.file, `http://127.0.0.1:${port}/v1/archives/${a.digest}`);
  }

  ask(method, a) {
    return this.daemon.http(`/v1/archives/${a.digest}`, { method, token: this.daemon.token });
  }

  // A session in a directory of its own, until it is answered.
  async session(a) {
    const cwd = path.join(this.dir, `session-${++this.#n}`);

    fs.mkdirSync(cwd);
    const { sessionId } = await this.client.newSession({ cwd, meta: { workspace: { archive: a.digest, baseline: false } } });

    return { cwd, end: () => this.end(sessionId, cwd) };
  }

  async end(sessionId, cwd) {
    await this.client.call('session/delete', { sessionId });
    execFileSync('rm', ['-rf', cwd]);
  }

  // What the daemon does for later sessions is done.
  async quiet() {
    while (childrenOf(this.target.pid).some((pid) => status(pid)?.name === HELPER))
      await sleep(20);
  }

  async close() {
    await this.client.close?.();
    await this.target.stop();
  }
}

function serve(dir) {
  const server = http.createServer((req, res) => {
    pipeline(fs.createReadStream(path.join(dir, path.basename(req.url)), { highWaterMark: MIB }), res).catch(() => {});
  });

  return new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(server)); });
}

async function timed(fn) {
  const start = performance.now();

  await fn();
  return performance.now() - start;
}

// --- end to end --------------------------------------------------------------------------------------------

async function first(side, a) {
  let session;
  const upload = await timed(() => side.upload(a));
  const rest = await timed(async () => { session = await side.session(a); });

  await session.end();
  return { upload, rest, all: upload + rest };
}

async function again(side, a) {
  let session;

  await side.quiet();
  const all = await timed(async () => {
    if ((await side.ask('HEAD', a)).status !== 200)
      throw new Error('the archive is not in the store');
    session = await side.session(a);
  });

  await session.end();
  return all;
}

async function piped(side, a, server) {
  const to = path.join(side.dir, 'piped');
  const url = `http://127.0.0.1:${server.address().port}/${path.basename(a.file)}`;

  fs.mkdirSync(to);
  const all = await timed(() => run('sh', '-c', `curl -sS ${url} | nice -n 10 ${unpackers[a.format]} --no-same-owner -C ${to}`));

  execFileSync('rm', ['-rf', to]);
  return all;
}

async function endToEnd(table, side, a, server, n) {
  const got = [];

  table.section(`${a.name}.${a.format} (${(a.bytes / 1e6).toFixed(0)} MB): upload, then a session that works in it, on tmpfs`);
  const peak = await peaksWhile(side.target.pid, async () => {
    await first(side, a);
    await again(side, a);
    await side.quiet();
  });

  for (let i = 0; i < n; i++) {
    await side.ask('DELETE', a);
    got.push({ ...await first(side, a), again: await again(side, a), piped: unpackers[a.format] && await piped(side, a, server) });
    await side.quiet();
  }
  const min = (key) => Math.min(...got.map((g) => g[key]));

  table.add({ what: `upload and session/new, best of ${n}`, unit: 's', value: min('all'),
    refs: [{ name: 'curl | tar x', value: unpackers[a.format] && min('piped') }],
    note: `upload ${(min('upload') / 1000).toFixed(2)} s, session/new ${(min('rest') / 1000).toFixed(2)} s` });
  table.add({ what: 'a second session of it', unit: 's', value: min('again'), bar: a.format === 'tar.gz' ? SECOND * min('all') : undefined,
    refs: [{ name: 'the first', value: min('all') }] });
  table.add({ what: 'peak RSS, daemon and helper', unit: 'mib', value: peak.daemon + peak.helper, bar: PEAK,
    note: `daemon ${(peak.daemon / MIB).toFixed(1)}, helper ${(peak.helper / MIB).toFixed(1)}` });
  await side.ask('DELETE', a);
}

// --- another session meanwhile -------------------------------------------------------------------------------

// Does it again and again until stop() is called.
function repeat(fn) {
  let on = true;
  const done = (async () => {
    let n = 0;

    for (; on; n++)
      await fn();
    return n;
  })();

  done.catch(() => {});
  return () => { on = false; return done; };
}

async function meanwhile(table, side, list, turns) {
  const gz = list.find((a) => a.format === 'tar.gz');
  const tar = list.find((a) => a.format === 'tar');
  const rtt = () => client(side.target, 'rtt', { n: turns });
  const idle = await rtt();
  const row = (name, r, note) => {
    table.add({ what: `${name}, p50`, unit: 'us', value: r.p50_us, refs: [{ name: 'nothing else', value: idle.p50_us }], note });
    table.add({ what: `${name}, p99`, unit: 'us', value: r.p99_us, bar: TURN_P99, refs: [{ name: 'nothing else', value: idle.p99_us }] });
  };

  table.section(`round trip of a prompt turn of another session, ${turns} turns`);
  if (gz) {
    await side.upload(gz);
    const stop = repeat(async () => (await side.session(gz)).end());
    const r = await rtt();

    row('while a tar.gz is unpacked', r, `${await stop()} times`);
  }
  const stop = repeat(async () => {
    await side.upload(tar);
    await side.ask('DELETE', tar);
  });
  const r = await rtt();

  row('while a tar is uploaded', r, `${await stop()} times`);
}

export async function transfers(table, dir, all, quick) {
  if (!has('curl')) {
    console.log('left out: uploads, for curl is not installed');
    return;
  }
  const list = all.filter((a) => a.name === 'tree');
  const server = await serve(dir);
  const side = await Side.open(dir);

  try {
    for (const a of list) {
      a.digest = await digestOf(a.file);
      await endToEnd(table, side, a, server, quick ? 1 : 2).catch((e) => console.log(`left out: ${e.message}`));
    }
    await meanwhile(table, side, list, quick ? 500 : 10_000);
  } finally {
    await side.close();
    server.close();
  }
}


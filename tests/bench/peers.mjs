// SPDX-License-Identifier: Apache-2.0
// make bench-peers: the same work through acpd and through the npm package sandbox-agent, in one run.
//
// sandbox-agent serves HTTP: a POST per message, Server-Sent Events for what the agent says by itself. It knows its
// agents by name and takes "opencode" from its PATH; what stands there is our stub agent, as it is for acpd. Its logging
// is turned down and telemetry off. All of it talks to loopback only; only the installation uses the network.

import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import * as procs from '../lib/procs.mjs';
import { floorOf } from './durable.mjs';
import {
  ACPD, AGENT, KIB, MIB, ROOT, Table, acpd, best, client, disk, figures, freePort, harnessFile, launch, placements,
  printMachine, program, rounds, scratch, sleep, stop,
} from './rig.mjs';

const VERSION = '0.4.2';
const quick = process.env.BENCH_QUICK === '1';
const N = quick
  ? { starts: 5, rounds: 1, turns: 500, updates: 50_000, conns: 50, sessions: 20, stalled: 100_000 }
  : { starts: 20, rounds: 3, turns: 3000, updates: 300_000, conns: 100, sessions: 50, stalled: 500_000 };
const SIZE = 200;
const dir = path.join(ROOT, 'build', 'peers');
const binary = path.join(dir, 'node_modules', '@sandbox-agent', `cli-linux-${process.arch}`, 'bin', 'sandbox-agent');
const bins = path.join(scratch, 'bin');

function install() {
  const at = path.join(dir, 'node_modules', 'sandbox-agent', 'package.json');
  const have = fs.existsSync(at) && fs.existsSync(binary) && JSON.parse(fs.readFileSync(at)).version;

  if (have !== VERSION) {
    console.log(`installing sandbox-agent ${VERSION} into build/peers`);
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, 'package.json'), '{"private":true}\n');
    execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--omit-lockfile-registry-resolved',
      `sandbox-agent@${VERSION}`], { cwd: dir, stdio: 'inherit' });
  }
  fs.chmodSync(binary, 0o755);
  fs.mkdirSync(path.join(scratch, 'home'));
  fs.mkdirSync(bins);
  fs.writeFileSync(path.join(bins, 'opencode'), `#!/bin/sh\nexec ${AGENT.join(' ')}\n`, { mode: 0o755 });
}

const env = {
  PATH: `${bins}:/usr/bin:/bin`, HOME: path.join(scratch, 'home'), RUST_LOG: 'error', SANDBOX_AGENT_REQUIRE_PREINSTALL: '1',
};
const serve = (port) => ['server', '--no-token', '--no-telemetry', '-H', '127.0.0.1', '-p', String(port)];

async function peer() {
  const port = await freePort();
  const child = launch(binary, serve(port), { env, stdio: 'ignore' });

  for (let i = 0; i < 200; i++) {
    const up = await fetch(`http://127.0.0.1:${port}/v1/health`).then((r) => r.ok, () => false);

    if (up)
      break;
    await sleep(20);
  }
  return {
    pid: child.pid,
    args: ['transport=sse', `port=${port}`, `daemon=${child.pid}`, 'agent=opencode'],
    async stop() {
      const below = procs.descendants(child.pid);

      await stop(child);
      await sleep(50);
      for (const p of below.filter((one) => procs.alive(one)))
        process.kill(p.pid, 'SIGKILL');
    },
  };
}

const table = { current: undefined };
const add = (what, unit, us, them, note) => table.current.add({
  what, unit, value: us, refs: [{ name: 'sandbox-agent', value: them }], note,
});

async function exec() {
  const token = path.join(scratch, 'token');
  const at = (name) => path.join(scratch, 'start', name);

  fs.writeFileSync(token, 'a-token-for-the-benchmark\n', { mode: 0o600 });
  const us = await figures(program('start'), [N.starts, '/health', ACPD, 'serve', '--listen', '127.0.0.1:@PORT@',
    '--state', at('state'), '--run-dir', at('run'), '--workspaces', at('ws'), '--token-file', token,
    '--harness-config', harnessFile()]);
  const them = await figures(program('start'), [N.starts, '/v1/health', binary, ...serve('@PORT@')], { env });

  add(`exec to healthy, median of ${N.starts}`, 'ms', us.median, them.median);
}

async function memory() {
  const pair = [await acpd({ maxConnections: N.conns + 10 }), await peer()];

  await sleep(3000);
  for (const [what, key] of [['idle RSS, 3 s after start', 'rss'], ['idle PSS', 'pss'], ['idle private dirty', 'privateDirty']])
    add(what, 'mib', ...pair.map(({ pid }) => procs[key](pid)));
  const each = async (work, params) => {
    const all = [];

    for (const target of pair)
      all.push((await client(target, work, params)).rss);
    return all;
  };

  add(`RSS per idle connection, of ${N.conns}`, 'kib', ...await each('conns', { n: N.conns }));
  add(`RSS per idle session, of ${N.sessions}`, 'kib', ...await each('sessions', { n: N.sessions, settle: 6500 }));
  for (const target of pair)
    await target.stop();
}

const lossOf = (results) => {
  const sum = (key) => results.reduce((total, r) => total + r[key], 0);
  const sent = results.length * N.updates;

  return `lost ${sum('lost')} (${(100 * sum('lost') / sent).toFixed(1)} %), doubled ${sum('doubled')}`;
};

async function speed({ name, cores }) {
  const make = [acpd, peer];
  const floor = disk && (await floorOf(cores.split(',')[2])).p50_us;
  const [us, them] = await rounds(N.rounds, make, 'rtt', { n: N.turns, cores });

  table.current.section(name);
  if (disk) // acpd answers when the turn is on it
    table.current.add({ what: 'a raw write and flush of 512 B in place, p50', unit: 'us', value: floor });
  for (const [what, key] of [['round trip p50', 'p50_us'], ['round trip p99', 'p99_us'], ['round trip, CPU of the daemon', 'cpu_us']])
    add(what, 'us', best(us, key), best(them, key));
  for (const [work, how] of [['flood', 'in blocks'], ['lineflood', 'line by line']]) {
    const [ours, theirs] = await rounds(N.rounds, make, work, { n: N.updates, size: SIZE, cores });

    add(`updates of ${SIZE} B ${how}, arrived`, 'rate', best(ours, 'per_s', Math.max), best(theirs, 'per_s', Math.max),
      `acpd ${lossOf(ours)}; sandbox-agent ${lossOf(theirs)}`);
    add(`updates of ${SIZE} B ${how}, CPU each`, 'us2', best(ours, 'cpu_us'), best(theirs, 'cpu_us'));
  }
}

async function stalled() {
  const [[us], [them]] = await rounds(1, [acpd, peer], 'stall', { n: N.stalled, size: SIZE });
  const said = (name, r) => `${name} ${(r.written / 1e6).toFixed(0)} MB produced, then ${r.got} of ${N.stalled} read`;

  table.current.section('a reader that stalls');
  add('growth of the daemon', 'mib', us.grown, them.grown,
    `${said('acpd', us)} (closed with ${us.close || 'nothing'}); ${said('sandbox-agent', them)}`);
}

install();
printMachine();
table.current = new Table(`acpd beside sandbox-agent ${VERSION}: same machine, same agent, same run`);
await exec();
await memory();
for (const placement of placements())
  await speed(placement);
await stalled();
table.current.section('the rest');
add('binary as shipped (acpd: with debug information)', 'kib', fs.statSync(ACPD).size, fs.statSync(binary).size);

// SPDX-License-Identifier: Apache-2.0
// /metrics: right by promtool, scraped by a Prometheus, and true by /proc.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { ownPort } from '../../lib/ports.mjs';
import * as procs from '../../lib/procs.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';

let d;

before(async () => { d = await Daemon.start(); });
after(async () => {
  await d.stop();
  assertNoViolations();
});

const scrape = async () => (await d.http('/metrics', { token: d.token })).body;

// Of a body: [{name, labels, value}].
function points(body) {
  return body.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
    const [, name, labels = '', value] = line.match(/^(\w+)(?:\{(.*)\})? (\S+)$/);

    return { name, labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, v])), value: Number(value) };
  });
}

const find = (all, name, labels = {}) => all.filter((p) => p.name === name && Object.entries(labels).every(([k, v]) => p.labels[k] === v));
const one = (all, name, labels) => {
  const found = find(all, name, labels);

  assert.equal(found.length, 1, `${name} ${JSON.stringify(labels ?? {})}`);
  return found[0].value;
};

function promtool(body) {
  const done = spawnSync('promtool', ['check', 'metrics'], { input: body, encoding: 'utf8' });

  assert.ok(!done.error, `promtool (Debian: prometheus): ${done.error}`);
  return [done.status, done.stdout + done.stderr];
}

// A Prometheus that scrapes the daemon every second; its API.
async function prometheus(t, token) {
  const dir = fs.mkdtempSync(path.join(d.dir, 'prometheus-'));
  const port = await ownPort();
  const config = path.join(dir, 'prometheus.yml');

  fs.writeFileSync(path.join(dir, 'token'), token);
  fs.writeFileSync(config, `global: {scrape_interval: 1s}
scrape_configs:
  - job_name: acpd
    authorization: {credentials_file: ${path.join(dir, 'token')}}
    static_configs: [{targets: ['127.0.0.1:${d.port}']}]
`);
  const args = [`--config.file=${config}`, `--storage.tsdb.path=${path.join(dir, 'data')}`, `--web.listen-address=127.0.0.1:${port}`];
  const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const gone = new Promise((done) => child.once('exit', done));
  let said = '';

  child.stderr.on('data', (text) => { said += text; });
  t.after(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  return async (where) => {
    try {
      return (await (await fetch(`http://127.0.0.1:${port}/api/v1/${where}`)).json()).data;
    } catch {
      assert.equal(child.exitCode, null, `prometheus ended: ${said.slice(-2000)}`);
      return undefined; // it does not listen yet
    }
  };
}

describe('the text', () => {
  test('promtool finds nothing, with sessions, helpers and refusals in it; it does find what is wrong', async () => {
    const c = await d.client();

    for (let i = 0; i < 3; i++)
      await c.prompt((await c.newSession()).sessionId, 'echo x');
    const body = await scrape();

    assert.deepEqual(promtool(body), [0, '']);
    const [status, said] = promtool(body.replaceAll('acpd_turns_total', 'acpd_turns').replace('# HELP acpd_sessions ', '# HELP acpd_other '));
    assert.notEqual(status, 0);
    assert.match(said, /acpd_turns counter metrics should have "_total" suffix|no help text/);
    await c.close();
  });

  test('each row stands once, and each family is told before its rows', async () => {
    const body = await scrape();
    const keys = body.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => line.replace(/ \S+$/, ''));
    const told = new Set();

    assert.deepEqual(keys, [...new Set(keys)]);
    for (const line of body.trimEnd().split('\n')) {
      if (line.startsWith('# TYPE '))
        told.add(line.split(' ')[2]);
      else if (!line.startsWith('#'))
        assert.ok(told.has(line.match(/^\w+/)[0]), line);
    }
  });
});

describe('what it says', () => {
  test('of the machine: as /proc does', async () => {
    const all = points(await scrape());
    const meminfo = fs.readFileSync('/proc/meminfo', 'utf8');
    const kib = (name) => Number(meminfo.match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'))[1]) * 1024;
    const stat = () => fs.readFileSync('/proc/stat', 'utf8').split('\n')[0].trim().split(/\s+/).slice(1, 9).map((n) => Number(n) / 100);
    const modes = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal'];

    assert.equal(one(all, 'acpd_machine_memory_bytes'), kib('MemTotal'));
    assert.ok(one(all, 'acpd_machine_memory_available_bytes') > 0);
    assert.equal(one(all, 'acpd_machine_swap_bytes'), kib('SwapTotal'));
    assert.ok(one(all, 'acpd_memory_limit_bytes') <= kib('MemTotal'));
    assert.ok(one(all, 'acpd_machine_cpus') >= 1);
    const now = stat();
    for (const [i, mode] of modes.entries())
      assert.ok(mode === 'iowait' || mode === 'idle' || one(all, 'acpd_machine_cpu_seconds_total', { mode }) <= now[i] + 0.01, mode);
    for (const minutes of ['1', '5', '15'])
      assert.ok(one(all, 'acpd_machine_load', { minutes }) >= 0);
    const lo = Number(fs.readFileSync('/proc/net/dev', 'utf8').match(/^\s*lo:\s*(\d+)/m)[1]);
    const said = one(all, 'acpd_machine_network_receive_bytes_total', { device: 'lo' });
    assert.ok(said > 0 && said <= lo);
    assert.equal(find(all, 'acpd_machine_network_transmit_bytes_total').length, find(all, 'acpd_machine_network_receive_bytes_total').length);
  });

  test('of disks: as statfs does', async () => {
    const all = points(await scrape());

    for (const [directory, where] of [['state', d.stateDir], ['workspaces', d.wsDir]]) {
      const fs_ = fs.statfsSync(where);

      assert.equal(one(all, 'acpd_filesystem_size_bytes', { directory }), fs_.blocks * fs_.bsize);
      assert.equal(one(all, 'acpd_filesystem_files', { directory }), fs_.files);
      assert.ok(one(all, 'acpd_filesystem_available_bytes', { directory }) <= fs_.blocks * fs_.bsize);
      assert.ok(one(all, 'acpd_filesystem_files_available', { directory }) <= fs_.files);
    }
  });

  test('of the daemon: as Prometheus\' clients name it', async () => {
    const cpu = procs.cpu(d.pid);
    const all = points(await scrape());
    const page = Number(spawnSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }).stdout);
    const [size] = procs.text(d.pid, 'statm').split(' ').map(Number);

    const used = one(all, 'process_cpu_seconds_total');
    assert.ok(used >= cpu - 0.02 && used <= procs.cpu(d.pid) + 0.02, `${used} s, ${cpu} s before`);
    assert.ok(Math.abs(one(all, 'process_virtual_memory_bytes') - size * page) < 64 * 2 ** 20);
    assert.ok(one(all, 'process_resident_memory_bytes') > 2 ** 20);
    assert.ok(one(all, 'process_threads') >= 1 && one(all, 'process_max_fds') >= 256);
    // of two looks one may see a connection or a thread's descriptor that the other does not
    await until(async () => Math.abs(one(points(await scrape()), 'process_open_fds') - procs.fdCount(d.pid)) <= 3, 'as many descriptors');
    assert.ok(Math.abs(one(all, 'process_start_time_seconds') - (Date.now() / 1000 - one(all, 'acpd_uptime_seconds'))) < 30);
  });

  test('of each process that it has started: by session and harness, as long as it lives', async () => {
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'echo x');
    const all = points(await scrape());
    const [row] = find(all, 'acpd_child_resident_memory_bytes', { child: sessionId });
    const pid = Number(row.labels.pid);

    assert.equal(row.labels.harness, 'stub');
    assert.ok(d.descendants().some((p) => p.pid === pid));
    assert.ok(row.value > 0 && one(all, 'acpd_child_threads', { child: sessionId }) >= 1);
    assert.ok(one(all, 'acpd_child_cpu_seconds_total', { child: sessionId }) >= 0);
    assert.ok(one(all, 'acpd_child_virtual_memory_bytes', { child: sessionId }) >= row.value);
    const started = one(all, 'acpd_child_start_time_seconds', { child: sessionId });
    assert.ok(started >= one(all, 'process_start_time_seconds') - 1 && started < Date.now() / 1000 + 1);
    await c.call('session/close', { sessionId });
    assert.deepEqual(find(points(await scrape()), 'acpd_child_threads', { child: sessionId }), []);
    await c.close();
  });

  test('of 70 processes 64 have rows, and the others are counted', async (t) => {
    const many = await Daemon.startFor(t, { flags: { harnessMax: 80, sessionMax: 80 } });
    const c = await many.client();

    await Promise.all(Array.from({ length: 70 }, () => c.newSession()));
    const { body } = await many.http('/metrics', { token: many.token });
    const all = points(body);

    assert.equal(find(all, 'acpd_child_threads').length, 64);
    assert.equal(one(all, 'acpd_children_without_rows'), 6);
    assert.deepEqual(promtool(body), [0, '']);
    await many.stop();
  });
});

test('a Prometheus scrapes it: with a token for looking on, none without', async (t) => {
  const minted = await d.http('/v1/tokens', {
    method: 'POST', token: d.token, headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ scope: 'observe', label: 'prometheus', expiresAt: new Date(Date.now() + 3600e3).toISOString() }),
  });
  const ask = await prometheus(t, minted.json.token);
  const other = await prometheus(t, 'not-a-token-at-all-0123456789');
  const target = async () => (await ask('targets'))?.activeTargets?.[0];
  const query = async (q) => (await ask(`query?query=${encodeURIComponent(q)}`))?.result ?? [];
  const c = await d.client();
  const { sessionId } = await c.newSession();

  await until(async () => (await target())?.health === 'up', 'a first scrape', 60000);
  await c.prompt(sessionId, 'echo x');
  const turns = await d.metric('acpd_turns_total');
  await until(async () => Number((await query('acpd_turns_total'))[0]?.value[1]) === turns, 'the turn is in it', 60000);
  // a scrape that a busy machine lets wait for too long has failed, until the next one
  await until(async () => (await query(`acpd_child_resident_memory_bytes{child="${sessionId}",harness="stub"}`)).length === 1, 'the harness is in it', 60000);
  await until(async () => (await target())?.lastError === '', 'nothing is wrong', 60000);
  const { acpd_turns_total: [kind] } = await ask('metadata?metric=acpd_turns_total');
  assert.deepEqual(kind, { type: 'counter', help: 'Prompts accepted.', unit: '' });
  await until(async () => /401/.test((await other('targets'))?.activeTargets?.[0]?.lastError), 'a refused scrape', 60000);
  assert.equal((await other('targets')).activeTargets[0].health, 'down');
  await c.close();
});

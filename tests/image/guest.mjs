// SPDX-License-Identifier: Apache-2.0
// A root file system booted with systemd as its first process, by systemd-nspawn: {exec, http, stop}. Its network has a cable to the network
// of whoever booted it, and leads nowhere else. To be called in a network and a mount namespace of its own (lib/far-side.mjs: enterNear):
// /run is covered there, so that nothing is registered with the machine's systemd.
//
// nspawn makes the guest's /dev anew and keeps its /proc/sys read-only: nothing that systemd does to them reaches the machine.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { farSidePossible } from '../lib/far-side.mjs';
import * as procs from '../lib/procs.mjs';
import { patience } from '../lib/rawws.mjs';
import { until } from '../lib/wait.mjs';

const has = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
// Why nothing can be booted here, or false.
export const noGuest = !farSidePossible ? 'not root, or no network namespaces or nftables' :
  ['mmdebstrap', 'systemd-nspawn'].filter((p) => !has(p)).map((p) => `no ${p}`).join(', ') || false;

const NEAR = '10.99.0.1';
const ADDRESS = '10.99.0.2'; // of the guest
const PATHS = '/usr/sbin:/usr/bin:/sbin:/bin';
// no server of ours says that it is up later than this
const BOOT_MAX = 60_000;

const ip = (...args) => execFileSync('ip', args);

// Groups of the guests' own: nspawn makes others in those that it is started in, and leaves them. Not named acpd-…: a daemon that starts beside
// them would take them for those of one that was killed.
function ownGroups() {
  const v2 = fs.existsSync('/sys/fs/cgroup/cgroup.procs') ? '/sys/fs/cgroup' : '/sys/fs/cgroup/unified';
  const place = { '': v2, 'name=systemd': '/sys/fs/cgroup/systemd' };

  return fs.readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n').map((line) => line.split(':'))
    .filter(([, controllers]) => fs.existsSync(`${place[controllers]}/cgroup.procs`))
    .map(([, controllers, at]) => path.join(place[controllers], at, `guests-${process.pid}`));
}

let groups; // once prepare() has been here

function prepare() {
  if (groups)
    return;
  groups = ownGroups();
  for (const group of groups)
    fs.mkdirSync(group, { recursive: true });
  process.once('exit', () => groups.forEach((group) => spawnSync('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';'])));
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run']);
  ip('link', 'set', 'lo', 'up');
}

// Arguments of a program that starts nspawn, in these groups, with its arguments.
const nspawn = (...args) => ['sh', ['-c', `${groups.map((group) => `echo $$ >${group}/cgroup.procs && `).join('')}exec systemd-nspawn "$@"`, 'sh',
  '--quiet', '--register=no', '--keep-unit', '--private-network', ...args]];

// The command as a process in a root that has not been booted. binds: {path there: path here}, read-only.
export function runInRoot(root, command, { binds = {}, env = {} } = {}) {
  prepare();
  const args = [...Object.entries(binds).map(([there, here]) => `--bind-ro=${here}:${there}`),
    ...Object.entries(env).map(([name, value]) => `--setenv=${name}=${value}`)];

  return spawnSync(...nspawn('--as-pid2', '--pipe', '-D', root, ...args, '/bin/bash', '-l', '-c', command),
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 26 });
}

export class Guest {
  url = `ws://${ADDRESS}:2270/acp`;
  said = ''; // on its console

  // memlock: as on a machine; nspawn refuses to lock memory otherwise.
  static async boot(root, { memlock = true } = {}) {
    const g = new Guest();

    prepare();
    g.root = root;
    fs.writeFileSync(path.join(root, 'etc/machine-id'), `${'0'.repeat(31)}1\n`);
    g.begun = performance.now();
    g.child = spawn(...nspawn('--boot', '--console=read-only', ...memlock ? ['--system-call-filter=@memlock'] : [], '-D', root),
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' } });
    for (const stream of [g.child.stdout, g.child.stderr])
      stream.on('data', (data) => { g.said += data; });
    g.ended = new Promise((done) => g.child.on('close', done));
    process.once('exit', () => g.child.kill('SIGKILL'));
    try {
      await g.#connected();
    } catch (e) {
      g.child.kill('SIGKILL');
      throw new Error(`${e.message}\n${g.said.slice(-3000)}`);
    }
    return g;
  }

  async #connected() {
    await until(() => (this.leader = this.#first()) || this.child.exitCode !== null, 'the guest has a first process', BOOT_MAX);
    assert.equal(this.child.exitCode, null, 'the guest ended');
    ip('link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'inside', 'netns', this.leader);
    ip('addr', 'add', `${NEAR}/24`, 'dev', 'near');
    ip('link', 'set', 'near', 'up');
    for (const args of [['addr', 'add', `${ADDRESS}/24`, 'dev', 'inside'], ['link', 'set', 'inside', 'up']])
      execFileSync('nsenter', ['-t', this.leader, '-n', 'ip', ...args]);
    await until(async () => (await this.http('/health').catch(() => ({}))).status === 200, '/health', BOOT_MAX);
    this.health = (performance.now() - this.begun) / 1000;
  }

  // The guest's first process, as the machine sees it: a child of nspawn, once it has a network of its own.
  #first() {
    const { pid, exitCode } = this.child;
    const isItsFirst = (child) => {
      const net = procs.link(child, 'ns/net');

      return /\s1$/.test(procs.status(child)?.NSpid) && net && net !== procs.link('self', 'ns/net');
    };

    return exitCode === null && procs.children(pid).find(isItsFirst)?.toString();
  }

  // A command of a shell in it, as root: {status, stdout, stderr}. user: as this user, with whatever setuid programs give.
  exec(command, { user, input } = {}) {
    const as = user ? ['setpriv', '--reuid', user, '--regid', user, '--clear-groups', '--'] : [];

    return spawnSync('nsenter', ['-t', this.leader, '-m', '-u', '-i', '-n', '-p', '-r', '-w', '--', '/usr/bin/env', '-i', `PATH=${PATHS}`, 'HOME=/',
      ...as, '/bin/sh', '-c', command].map(String), { encoding: 'utf8', input: input ?? '' });
  }

  // What a command that has to succeed prints.
  ask(command, options) {
    const { status, stdout, stderr } = this.exec(command, options);

    assert.equal(status, 0, `${command}: ${stdout}${stderr}`);
    return stdout.trim();
  }

  async http(where, token) {
    const response = await fetch(`http://${ADDRESS}:2270${where}`, { headers: token ? { authorization: `Bearer ${token}` } : {} });

    return { status: response.status, body: await response.text() };
  }

  // A file of it, seen from here.
  file(name) {
    return path.join(procs.at(this.leader, 'root'), name);
  }

  // Powers it off. Its end of the cable goes with it.
  async stop() {
    this.exec('systemctl --no-block poweroff');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), patience(30_000));

    await this.ended;
    clearTimeout(timer);
  }
}

// SPDX-License-Identifier: Apache-2.0
// A network of a test file's own: its processes, the daemon among them, are on the near side of a cable, and the servers on the far side
// answer at every address there is. Nothing of it is on the machine's network, and all of it goes with the processes.

import { execFileSync, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';

const INSIDE = 'ACPD_TEST_NEAR';
const MAIN = path.join(import.meta.dirname, 'far-main.mjs');

export const NEAR = { v4: '11.22.33.1', v6: '2a00:1::1' };
export const FAR = { v4: '11.22.33.2', v6: '2a00:1::2' };

const works = (...command) => spawnSync(command[0], command.slice(1), { stdio: 'ignore' }).status === 0;
export const farSidePossible = Boolean(process.env[INSIDE]) || (process.getuid() === 0 &&
  works('unshare', '--net', '--mount', 'sh', '-c', 'ip link add near type veth peer name far && nft add table inet near'));

// True: we are inside. Else the file has been run there, and there is nothing left to do.
export function enterNear(file) {
  if (process.env[INSIDE] || !farSidePossible)
    return true;
  // what a file prints is read by whoever runs the tests
  const { status } = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'unshare', '--net', '--mount', '--propagation', 'private', process.execPath, file],
    { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });

  process.exitCode = status ?? 1;
  return false;
}

const ip = (text) => text.trim().split('\n').forEach((line) => execFileSync('ip', line.trim().split(' ')));

export class FarSide {
  #answers = [];

  // names: {name: [addresses]}, or a list of such lists, the first for the first look-up, the last for all that follow.
  // pages: a module whose default export answers (req, res, {dir}); dir: its files, and the certificate is made there.
  static async start({ dir, names, hosts, pages }) {
    const far = new FarSide();
    const resolv = path.join(dir, 'resolv.conf');

    ip('link set lo up');
    far.child = fork(MAIN, [JSON.stringify({ dir, names, hosts, pages })], { execPath: 'unshare', execArgv: ['--net', process.execPath] });
    far.child.on('message', (m) => (m.died ? console.error(m.died) : far.#answers.shift()?.(m)));
    process.once('exit', () => far.child.kill('SIGKILL'));
    await Promise.race([far.ask('here'), once(far.child, 'exit').then(() => { throw new Error('the far side did not start'); })]);
    ip(`link add near type veth peer name far netns ${far.child.pid}
      addr add ${NEAR.v4}/30 dev near
      addr add ${NEAR.v6}/126 dev near nodad
      link set near up`);
    await far.ask('open');
    ip(`route add default via ${FAR.v4}
      -6 route add default via ${FAR.v6}`);
    fs.writeFileSync(resolv, `nameserver ${FAR.v4}\n`);
    execFileSync('mount', ['--bind', resolv, '/etc/resolv.conf']);
    execFileSync('nft', ['-f', '-'], { input: `table inet near {
      set senders { type uid . ipv4_addr . inet_service; flags dynamic; size 4096; }
      set senders6 { type uid . ipv6_addr . inet_service; flags dynamic; size 4096; }
      chain out { type filter hook postrouting priority 300;
        oifname "near" add @senders { meta skuid . ip daddr . th dport }
        oifname "near" add @senders6 { meta skuid . ip6 daddr . th dport }
      }
    }` });
    return far;
  }

  // 'packets': how many came over the cable; 'forget': from here on; 'seen': where to, as ADDRESS:PORT; 'bind': requests it has answered
  ask(what) {
    return new Promise((answered) => {
      this.#answers.push(answered);
      this.child.send(what);
    });
  }

  // Who has sent since the last time, and where to: {uid: [ADDRESS:PORT]}.
  senders() {
    const by = {};

    for (const set of ['senders', 'senders6']) {
      const { nftables } = JSON.parse(execFileSync('nft', ['-j', 'list', 'set', 'inet', 'near', set]));

      for (const { concat: [who, address, port] } of nftables.find((n) => n.set).set.elem ?? [])
        (by[Number(who) >= 0 ? who : execFileSync('id', ['-u', who]).toString().trim()] ??= []).push(`${address}:${port}`);
      execFileSync('nft', ['flush', 'set', 'inet', 'near', set]);
    }
    return by;
  }

  stop() {
    this.child.kill('SIGKILL');
  }
}

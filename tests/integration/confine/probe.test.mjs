// SPDX-License-Identifier: Apache-2.0
// build: release
// What a session's agent can do, tried by a static program that its shell tool runs (tests/probe), at each level and for each kind of
// daemon, held against a table. A row of it is an act; a cell says what may come of it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../../lib/agent-shell.mjs';
import { ACPD, Daemon, ROOT } from '../../lib/daemon.mjs';
import { hasDevices, openDevices } from '../../lib/open-devices.mjs';
import { closeLogins, hasSshd, insideEtc, openEtc, startSshd } from '../../lib/open-etc.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import { startWithUids } from '../../lib/users.mjs';
import { homely, homeOf } from '../ledger.mjs';

const isRoot = process.getuid() === 0;
const PROBE = path.join(path.dirname(ACPD), 'confine-probe');
const NEEDS_ROOT = ['agent', 'own', 'root'];
const UNTRIED = [...(isRoot ? [] : ['become/setuid-program']), ...(isRoot && hasSshd ? [] : ['become/ssh', 'become/ssh-closed-logins'])];

// --- the table -----------------------------------------------------------------------------------------------------

// {columns: ["guarded.agent", …], rows: Map of act to its cells}. A cell is a list of results with | between them; "=" is the cell
// before it, "*" anything.
function readTable() {
  const lines = fs.readFileSync(path.join(ROOT, 'tests/probe/expected.txt'), 'utf8').split('\n')
    .filter((line) => line && !line.startsWith('#')).map((line) => line.split(/\s+/));
  const [[, ...columns], ...rows] = lines;
  const filled = ([name, ...cells]) => {
    assert.equal(cells.length, columns.length, `the row ${name}`);
    return [name, cells.map((cell, i) => (cell === '=' ? cells.slice(0, i).findLast((c) => c !== '=') : cell).split('|'))];
  };

  assert.deepEqual(rows.map(([name]) => name).filter((name, i, all) => all.indexOf(name) !== i), [], 'one row for each act');
  return { columns, rows: new Map(rows.map(filled)) };
}

const table = readTable();

// Some machines have no i386 calls: a process that makes one ends by SIGSEGV there, confined or not.
const NO_I386 = spawnSync(PROBE, ['only=architecture/i386'], { encoding: 'utf8' }).stdout === 'architecture/i386 SIGSEGV\n';

const machineDecides = (name, got) => (got === '-' && UNTRIED.includes(name)) || (NO_I386 && name === 'architecture/i386' && got === 'SIGSEGV');

function compare(results, column) {
  const at = table.columns.indexOf(column);
  const wrong = [];

  for (const [name, cells] of table.rows) {
    const got = results.get(name) ?? 'not tried';

    if (!cells[at].includes('*') && !cells[at].includes(got) && !machineDecides(name, got))
      wrong.push(`${name}: ${got}, not ${cells[at].join(' or ')}`);
  }
  assert.deepEqual(wrong, [], column);
}

// --- the surroundings --------------------------------------------------------------------------------------------------

let dir, terminal, other, abstract, web;
let sshds = []; // of an /etc with empty passwords, and of one after close-logins.sh

async function firstLine(child) {
  const [data] = await once(child.stdout, 'data');

  return data.toString().trim();
}

before(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-probe-'));
  fs.chmodSync(dir, 0o755);
  if (isRoot)
    openEtc(dir, 'nobody');
  if (isRoot && hasSshd) {
    const closed = path.join(dir, 'closed');

    fs.mkdirSync(closed);
    openEtc(closed, 'nobody');
    assert.equal(closeLogins(closed).status, 0);
    sshds = [await startSshd(dir), await startSshd(closed)];
  }
  // a terminal that anybody may open, in use by us
  const python = 'import os,pty,sys\nm,s=pty.openpty()\nos.fchmod(s,0o666)\nprint(os.ttyname(s),flush=True)\nsys.stdin.read()';
  terminal = spawn('python3', ['-c', python], { stdio: ['pipe', 'pipe', 'inherit'] });
  terminal.path = await firstLine(terminal);
  other = spawn('sh', ['-c', 'echo on; exec sleep 300'], { uid: isRoot ? 1 : undefined, stdio: ['ignore', 'pipe', 'inherit'] });
  await firstLine(other);
  abstract = net.createServer((s) => s.destroy()).listen(`\0acpd-probe-${process.pid}`);
  web = net.createServer((s) => s.destroy()).listen(0, '127.0.0.1');
  await Promise.all([once(abstract, 'listening'), once(web, 'listening')]);
});

after(() => {
  terminal?.kill();
  other?.kill('SIGKILL');
  for (const sshd of sshds)
    sshd.stop();
  abstract?.close();
  web?.close();
  fs.rmSync(dir, { recursive: true, force: true });
});

const HARNESSES = [homely()];
// Its devices are open to everyone.
function rootsProgram() {
  const devices = path.join(dir, 'devices');

  fs.mkdirSync(devices, { recursive: true });
  return insideEtc(dir, 'acpd', ACPD, hasDevices ? openDevices(devices) : undefined);
}
const START = {
  agent: () => Daemon.start({ program: rootsProgram(), flags: { agentUser: 'nobody' }, harnesses: HARNESSES }),
  async own() {
    const d = await startWithUids({ program: rootsProgram(), harnesses: HARNESSES });

    for (let uid = d.first; uid <= d.last; uid++) // ssh does not run without
      fs.appendFileSync(path.join(dir, 'etc/passwd'), `agent-${uid}:x:${uid}:${uid}::/:/bin/sh\n`);
    return d;
  },
  root: () => Daemon.start({ harnesses: HARNESSES }),
  plain: () => startPlain({ harnesses: HARNESSES }),
};

// All acts as the agent of a new session at this level: name -> result.
async function probe(d, c, level, neighbour) {
  const { sessionId } = await c.newSession({ meta: { harness: 'homely', level: { name: level, atLeast: false } } });
  const keys = {
    daemon: d.pid, other: other.pid, terminal: terminal.path, token: d.tokenFile, state: d.stateDir, home: homeOf(d, neighbour),
    control: d.controlSocket, abstract: `acpd-probe-${process.pid}`, port: web.address().port,
    ...(isRoot && { setuid: path.join(d.workDir, 'setuid-probe') }),
    ...(sshds.length && { sshd: sshds[0].port, closed: sshds[1].port }),
  };
  const { code, text } = await runCommand(c, sessionId, [path.join(d.workDir, 'confine-probe'),
    ...Object.entries(keys).map(([key, value]) => `${key}='${value}'`)].join(' '));

  assert.equal(code, 0, text);
  return new Map(text.split('\n').map((line) => line.split(' ')));
}

for (const kind of Object.keys(START)) {
  const levels = table.columns.filter((column) => column.endsWith(`.${kind}`)).map((column) => column.split('.')[0]);

  describe(`the probe, of a daemon of the kind ${kind}`, { skip: !isRoot && NEEDS_ROOT.includes(kind) && 'not root' }, () => {
    const seen = {};
    let d, c, neighbour;

    before(async () => {
      d = await START[kind]();
      for (const [name, mode] of [['confine-probe', 0o755], ['setuid-probe', 0o4755]]) {
        fs.copyFileSync(PROBE, path.join(d.workDir, name)); // what a session sees at any level
        fs.chmodSync(path.join(d.workDir, name), mode);
      }
      c = await d.client();
      ({ sessionId: neighbour } = await c.newSession({ meta: { harness: 'homely', level: 'open' } }));
      assert.ok(fs.existsSync(homeOf(d, neighbour)));
    });
    after(async () => {
      await c?.close();
      await d?.discard();
      dropPlain(d ?? {});
    });

    for (const level of levels)
      test(level, async () => {
        const results = await probe(d, c, level, neighbour);

        if (process.env.PROBE_RESULTS)
          fs.writeFileSync(path.join(process.env.PROBE_RESULTS, `${level}.${kind}`), [...results].map((r) => `${r.join(' ')}\n`).join(''));
        assert.deepEqual([...results.keys()].filter((name) => !table.rows.has(name)), [], 'acts without a row');
        compare(results, `${level}.${kind}`);
        seen[level] = results;
      });

    // else the table would hold of a kernel that can do nothing
    if (levels.includes('open'))
      test('open lets pass many acts that guarded refuses', () => {
        const passed = [...seen.open].filter(([name, result]) => ['OK', 'EFAULT', 'EBADF', 'EINVAL'].includes(result) &&
          seen.guarded.get(name) !== result);

        assert.ok(passed.length >= 20, passed.join('; '));
      });
  });
}

// else no row would show that they are closed
describe('what guarded and strict close is open where they do not hold', () => {
  const only = (name, setup) => spawnSync('unshare', ['--mount', 'sh', '-c', `${setup} && exec ${PROBE} only=${name}`], { encoding: 'utf8' }).stdout;
  const ACTS = ['open/dev/fuse', 'open/dev/net/tun', 'inside/uncover-fuse', 'inside/tunnel', 'read/dev/kmsg', 'read/proc/kallsyms-addresses'];

  for (const name of ACTS)
    test(name, { skip: !hasDevices && 'not root, or no devices' }, () => {
      const devices = path.join(dir, 'devices');

      fs.mkdirSync(devices, { recursive: true });
      assert.equal(only(name, openDevices(devices)), `${name} OK\n`);
    });
});

test('sshd let root in without a password before close-logins.sh, and refused after it', { skip: (!isRoot || !hasSshd) && 'not root, or no build/openssh-server' }, () => {
  const [open, closed] = sshds.map((sshd) => sshd.said());

  assert.match(open, /Accepted none for root/);
  assert.doesNotMatch(closed, /Accepted/);
  assert.match(closed, /authenticating user root/);
});

test('the table is about a hundred acts and more that guarded and strict refuse', () => {
  for (const [i, column] of table.columns.entries()) {
    const refused = [...table.rows.values()].filter((cells) => !cells[i].includes('OK') && !cells[i].includes('*'));

    if (!column.startsWith('open'))
      assert.ok(refused.length >= 100, `${column}: ${refused.length}`);
  }
});

// SPDX-License-Identifier: Apache-2.0
// acpd doctor without a daemon, as root and as a plain user: every kind of trouble is made for real, with real files, modes, sockets
// and file systems, and its exit code is the one that images/README.md says. Beside a daemon: cli.test.mjs and the tests of what it tells.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, ROOT } from '../../lib/daemon.mjs';
import { checkCommand } from '../../lib/described-commands.mjs';
import { rootHasNamespaces } from '../../lib/namespaces.mjs';
import { insideEtc, openEtc } from '../../lib/open-etc.mjs';
import { patience } from '../../lib/rawws.mjs';

const isRoot = process.getuid() === 0;
const HELPERS = ['acpd-unpack', 'acpd-init', 'acpd-fetch', 'acpd-proxy'];
const CODES = new Map([...fs.readFileSync(path.join(ROOT, 'images/README.md'), 'utf8').matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map((m) => [m[2], Number(m[1])]));
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find((f) => fs.existsSync(f));
const made = new Set(); // kinds of which trouble was made

let dir;
before(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-doctor-'));
  fs.chmodSync(dir, 0o755);
});
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const script = (file, text) => fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });

// A machine where nothing is wrong, of that user: {flags, tools (all of its PATH), at(name), run(flags, opts)}.
class Machine {
  constructor(uid) {
    this.uid = uid;
    this.dir = fs.mkdtempSync(path.join(dir, 'm-'));
    fs.chmodSync(this.dir, 0o755);
    this.tools = this.at('tools');
    fs.mkdirSync(this.tools);
    script(this.at('tools/node'), 'echo v22.6.0');
    script(this.at('tools/python3'), 'echo Python 3.13.1');
    script(this.at('tools/git'), 'echo git version 2.47.0');
    script(this.at('tools/rg'), 'echo ripgrep 14.1.1');
    script(this.at('tools/agent'), 'exit 0');
    fs.writeFileSync(this.at('harnesses.json'), JSON.stringify({ harnesses: [{ id: 'one', command: 'agent' }] }));
    for (const d of ['state', 'run'])
      fs.mkdirSync(this.at(d), { mode: 0o711 });
    if (uid !== process.getuid())
      ['', 'state', 'run'].forEach((d) => fs.chownSync(this.at(d), uid, uid));
    this.flags = { listen: '127.0.0.1:0', state: this.at('state'), 'run-dir': this.at('run'), 'harness-config': this.at('harnesses.json') };
  }

  at(name) { return path.join(this.dir, name); }

  // acpd and its helpers, to be spoilt.
  copy() {
    fs.mkdirSync(this.at('up/bin'), { recursive: true });
    for (const name of ['acpd', ...HELPERS])
      fs.copyFileSync(name === 'acpd' ? ACPD : path.join(path.dirname(ACPD), name), this.at(`up/bin/${name}`));
    return this.at('up/bin/acpd');
  }

  run(flags = {}, { program = ACPD, env = {}, json = true } = {}) {
    const args = Object.entries({ ...this.flags, ...flags }).filter(([, v]) => v !== null).flatMap(([k, v]) => [`--${k}`, String(v)]);
    const command = [program, 'doctor', ...args, ...json ? ['--json'] : []];
    const as = this.uid === process.getuid() ? [] : [SETPRIV, '--reuid', String(this.uid), '--regid', String(this.uid), '--clear-groups'];
    const [file, ...rest] = [...as, ...command];
    const { status, stdout, stderr, signal } = spawnSync(file, rest, { encoding: 'utf8', cwd: '/', timeout: patience(30000),
      env: { PATH: this.tools, HOME: this.dir, ...env } });

    assert.deepEqual([signal, stderr], [null, ''], command.join(' '));
    checkCommand(command.slice(1), stdout);
    return { status, stdout, said: json ? JSON.parse(stdout) : undefined };
  }

  // That trouble, and no other: code and kind; message of the (first) finding.
  trouble(kind, pattern, flags, opts) {
    const { status, said } = this.run(flags, opts);
    const found = said.findings.filter((f) => f.level === 'trouble');

    assert.deepEqual([[...new Set(found.map((f) => f.kind))], status, said.exitCode], [[kind], CODES.get(kind), CODES.get(kind)], JSON.stringify(found));
    assert.ok(found.some((f) => pattern.test(`${f.id} ${f.subject ?? ''} ${f.message}`)), JSON.stringify(found));
    made.add(kind);
    return found;
  }
}

for (const [who, uid, skip] of [['root', 0, !isRoot && 'not root'], ['a plain user', isRoot ? 65534 : process.getuid(), false]])
  describe(`for ${who}`, { skip }, () => {
    const machine = () => new Machine(uid);

    test('nothing is wrong: 0, and nothing is changed', () => {
      const m = machine();
      const { status, said } = m.run();
      const text = m.run({}, { json: false });

      assert.deepEqual([said.findings.filter((f) => f.level === 'trouble'), status, said.exitCode, said.daemon], [[], 0, 0, undefined]);
      for (const [id, kind, pattern] of [['settings', 'settings', /./], ['program', 'programs', /acpd \d/], ['directory', 'directories', /state \(uid/], ['disk', 'disk', /MiB/],
        ['clock', 'clock', /^20\d\d-/], ['port', 'port', /127\.0\.0\.1:0 is free/], ['harness', 'harness', /tools\/agent$/], ['node', 'node', /^v22\.6\.0, /], ['git', 'git', /2\.47/],
        ['python', 'python', /3\.13/], ['ripgrep', 'ripgrep', /14\.1/], ['daemon', 'daemon', /no daemon answers/], ['setuid', 'root', /no program/]])
        assert.ok(said.findings.some((f) => f.id === id && f.kind === kind && f.level === 'ok' && pattern.test(f.message)), `${id}: ${JSON.stringify(said.findings.filter((f) => f.id === id))}`);
      const marks = text.stdout.split('\n').map((l) => l.slice(0, 4).trim()).filter(Boolean);
      assert.equal(text.status, 0);
      assert.deepEqual(marks, [...marks].sort((a, b) => ['FAIL', '--', 'ok'].indexOf(a) - ['FAIL', '--', 'ok'].indexOf(b)), 'what is wrong is first');
      assert.deepEqual([fs.readdirSync(m.at('state')), fs.readdirSync(m.at('run'))], [[], []]);
    });

    test('settings', () => {
      const m = machine();
      const file = m.at('file.json');

      m.trouble('settings', /ACPD_LISTN.*ACPD_LISTEN/, {}, { env: { ACPD_LISTN: 'x' } });
      fs.writeFileSync(file, '{"harnesses": [{"id": "x", "command": "agent", "comand": "y"}]}');
      m.trouble('settings', /harnesses\[0\]\.comand/, { 'harness-config': file });
      fs.writeFileSync(file, '{"mcpServers": {"x": {"command": "y", "timeout": 5}}}');
      const odd = m.run({ 'mcp-config': file });
      assert.deepEqual([odd.status, odd.said.findings.filter((f) => f.level === 'warning' && /x\.timeout/.test(f.message)).length], [0, 1], 'a start takes it');
      m.trouble('settings', /no certificate/, { 'ca-file': file });
      fs.writeFileSync(file, 'short', { mode: 0o600 });
      if (uid !== process.getuid())
        fs.chownSync(file, uid, uid);
      m.trouble('settings', /token/, { 'token-file': file });
      fs.writeFileSync(file, 'x'.repeat(40));
      fs.chmodSync(file, 0o644);
      m.trouble('settings', /others can read it/, { 'token-file': file });
      m.trouble('settings', /no harness 'two'/, { 'default-harness': 'two' });
      assert.equal(m.run({}, { env: { ACPD_LISTEN: '127.0.0.1:1', ACPD_TEST_X: '1' } }).status, 0);
    });

    test('programs: a helper that is missing, or that others may write', () => {
      const m = machine();
      const program = m.copy();

      assert.equal(m.run({}, { program }).status, 0);
      fs.chmodSync(m.at('up/bin/acpd-unpack'), 0o644);
      m.trouble('programs', /acpd-unpack.*cannot be run/, {}, { program });
      fs.chmodSync(m.at('up/bin/acpd-unpack'), 0o757);
      m.trouble('programs', /acpd-unpack.*everybody \(mode 0757\)/, {}, { program });
      fs.rmSync(m.at('up/bin/acpd-unpack'));
      m.trouble('programs', /acpd-unpack.*not beside acpd/, {}, { program });
      fs.copyFileSync(path.join(path.dirname(ACPD), 'acpd-unpack'), m.at('up/bin/acpd-unpack'));
      fs.rmSync(m.at('up/bin/acpd-proxy'));
      const { status, said } = m.run({}, { program });
      assert.deepEqual([status, said.findings.find((f) => f.subject === 'acpd-proxy').level], [0, 'warning']);
      fs.chmodSync(m.at('up/bin'), 0o777);
      m.trouble('programs', /program.*bin may be written by everybody/, {}, { program });
      fs.chmodSync(m.at('up/bin'), 0o1777);
      assert.equal(m.run({}, { program }).status, 0, 'with the sticky bit nobody replaces it');
      fs.chmodSync(m.at('up/bin'), 0o755);
      fs.chmodSync(m.at('up'), 0o777);
      m.trouble('programs', /program.*up may be written by everybody/, {}, { program });
    });

    test('directories: modes, owners, and those that cannot be made', () => {
      const m = machine();

      fs.chmodSync(m.at('state'), 0o777);
      m.trouble('directories', /state.*everybody \(mode 0777\)/);
      fs.chmodSync(m.at('state'), 0o711);
      m.trouble('directories', /run-dir.*Not a directory/, { 'run-dir': m.at('tools/node/x') });
      fs.mkdirSync(m.at('ws'), { mode: 0o777 });
      fs.chmodSync(m.at('ws'), 0o777);
      m.trouble('directories', /workspaces/, { workspaces: m.at('ws') });
    });

    test('directories of another user', { skip: !isRoot && 'needs root' }, () => {
      const m = machine();

      fs.mkdirSync(m.at('other'), { mode: 0o755 });
      fs.chownSync(m.at('other'), 12345, 12345);
      m.trouble('directories', uid ? /state.*Permission denied/ : /state.*belongs to uid 12345/, { state: m.at('other') });
      m.trouble('directories', uid ? /run-dir.*Permission denied/ : /run-dir.*belongs to uid 12345/, { 'run-dir': m.at('other/below') });
      if (uid) {
        fs.chmodSync(m.at('other'), 0o700);
        m.trouble('directories', /state.*Permission denied/, { state: m.at('other/deep/er') });
      }
    });

    test('port: who has it is told', async () => {
      const m = machine();
      const server = net.createServer().listen(0, '127.0.0.1');
      await new Promise((go) => server.once('listening', go));
      const { port } = server.address();

      try {
        m.trouble('port', isRoot && uid ? /Address already in use.*uid 0 has it/ : new RegExp(`Address already in use.*\\(pid ${process.pid}\\) has it`), { listen: `127.0.0.1:${port}` });
        const listens = m.run().said.findings.find((f) => f.id === 'listens' && f.subject === `127.0.0.1:${port}`);
        assert.match(listens.message, isRoot && uid ? /^a process of uid 0$/ : new RegExp(`^\\S.* \\(pid ${process.pid}\\)$`));
      } finally {
        server.close();
      }
      if (uid)
        assert.equal(m.run({ listen: '198.51.100.7:80' }).status, CODES.get('port'), 'an address that is not ours');
    });

    test('clock: before the program was made', () => {
      const m = machine();
      const program = m.copy();

      fs.utimesSync(program, new Date(), new Date(Date.now() + 86400e3));
      m.trouble('clock', /acpd itself is 86\d\d\d s younger/, {}, { program });
    });

    test('users', () => {
      const m = machine();

      m.trouble('users', /no user 'no-such-user'/, { 'agent-user': 'no-such-user' });
      m.trouble('users', uid ? /root/ : /2 lack a user or group/, { 'agent-user': uid ? null : 'daemon', 'agent-uids': '1900000001-1900000002' });
      if (uid)
        m.trouble('users', /only root can start what runs as 'daemon'/, { 'agent-user': 'daemon' });
    });

    test('root: a program of acpd that is setuid', () => {
      const m = machine();
      const program = m.copy();

      fs.chmodSync(m.at('up/bin/acpd-fetch'), 0o4755);
      m.trouble('root', /acpd-fetch gives who runs it more rights/, {}, { program });
    });

    test('kernel: a level that is named and cannot be had', () => {
      const m = machine();

      m.trouble('kernel', /guarded not whole: no .*uid/, { level: 'guarded' });
      m.trouble('kernel', /guarded not whole: no .*uid/, { 'level-min': 'guarded' });
      assert.equal(m.run({ level: 'open' }).status, 0);
    });

    test('harness: none, and not the one that is named; the version of one that we know', () => {
      const m = machine();

      script(m.at('tools/codex'), 'echo codex-cli 0.99.0');
      assert.match(m.run().said.findings.find((f) => f.subject === 'codex').message, /^codex-cli 0\.99\.0, .*tools\/codex$/);
      script(m.at('tools/codex'), 'exit 1');
      assert.match(m.run().said.findings.find((f) => f.subject === 'codex').message, /when asked for its version/);
      fs.rmSync(m.at('tools/codex'));

      m.trouble('harness', /none is installed/, { 'harness-config': null });
      assert.match(JSON.stringify(m.run({ 'harness-config': null }).said.findings.find((f) => f.subject === 'codex')), /acpd harness install codex/);
      fs.writeFileSync(m.at('h.json'), JSON.stringify({ harnesses: [{ id: 'gone', command: '/no/such' }, { id: 'one', command: 'agent' }] }));
      m.trouble('harness', /gone \/no\/such \(not installed\)/, { 'harness-config': m.at('h.json') });
      fs.chmodSync(m.at('tools/agent'), 0o777);
      m.trouble('harness', /agent may be written by everybody/);
    });

    for (const [kind, name] of [['node', 'node'], ['python', 'python3'], ['git', 'git'], ['ripgrep', 'rg']])
      test(`${kind}: missing, and failing`, () => {
        const m = machine();
        const file = m.at(`tools/${name}`);

        script(file, 'exit 3');
        m.trouble(kind, /when asked for its version/);
        script(file, 'while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done');
        m.trouble(kind, /when asked for its version/);
        fs.rmSync(file);
        m.trouble(kind, /not installed/);
      });

    test('node: too old, nonsense, one that hangs and leaves something behind', () => {
      const m = machine();
      const node = m.at('tools/node');

      for (const version of ['v20.20.2', 'v22.5.1', 'v', 'x\\033[31m22.9.0\\n'])
        script(node, `printf '${version}'`) ?? m.trouble('node', /too old/);
      for (const version of ['v22.6.0\\n', 'v24.0.0'])
        script(node, `printf '${version}'`) ?? assert.equal(m.run().status, 0);
      const mark = `3${String(process.pid).padStart(7, '0')}`;
      script(node, `sleep ${mark} & sleep ${mark}`);
      script(m.at('tools/sleep'), `exec ${spawnSync('which', ['sleep'], { encoding: 'utf8' }).stdout.trim()} "$@"`);
      m.trouble('node', /did not say its version within 3 s/);
      assert.doesNotMatch(spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).stdout, new RegExp(`sleep ${mark}`));
    });

    test('daemon: what answers is none', async () => {
      const m = machine();
      const socket = m.at('run/control.sock');
      const child = spawn(process.execPath, ['-e', `require('net').createServer((c) => c.end('nonsense\\n')).listen('${socket}')`]);

      try {
        for (let i = 0; i < 500 && !fs.existsSync(socket); i++)
          await new Promise((go) => setTimeout(go, 10));
        fs.chmodSync(socket, 0o777);
        m.trouble('daemon', /no sensible answer/);
      } finally {
        child.kill();
      }
    });

    test('of several kinds the first in the table gives the code', () => {
      const m = machine();

      fs.rmSync(m.at('tools/rg'));
      assert.equal(m.run().status, CODES.get('ripgrep'));
      fs.rmSync(m.at('tools/git'));
      assert.equal(m.run().status, CODES.get('git'));
      assert.equal(m.run({ level: 'guarded' }).status, CODES.get('kernel'));
      fs.chmodSync(m.at('state'), 0o777);
      const { status, said } = m.run({}, { env: { ACPD_X: '1' } });
      assert.equal(status, CODES.get('settings'));
      assert.deepEqual([...new Set(said.findings.filter((f) => f.level === 'trouble').map((f) => f.kind))].sort(), ['directories', 'git', 'ripgrep', 'settings']);
    });
  });

describe('with other file systems, for root', { skip: !rootHasNamespaces && 'no namespaces' }, () => {
  // A program that runs acpd where that was mounted.
  const within = (m, mounts) => {
    script(m.at('within'), `exec /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount sh -c '${mounts} && PATH=${m.tools} exec ${ACPD} "$@"' sh "$@"`);
    return m.at('within');
  };

  test('disk: no room, no inodes', () => {
    const m = new Machine(0);

    m.trouble('disk', /state .*MiB/, {}, { program: within(m, `mount -t tmpfs -o size=16m,mode=0711 none ${m.at('state')}`) });
    m.trouble('disk', /and \d+ inodes/, {}, { program: within(m, `mount -t tmpfs -o size=2g,nr_inodes=500,mode=0711 none ${m.at('state')}`) });
    const { status, said } = m.run({}, { program: within(m, `mount -t tmpfs -o size=500m,mode=0711 none ${m.at('state')}`) });
    assert.deepEqual([status, said.findings.find((f) => f.id === 'disk').level], [0, 'warning']);
  });

  test('directories: a file system that is read-only', () => {
    const m = new Machine(0);

    m.trouble('directories', /Read-only file system/, {}, { program: within(m, `mount -t tmpfs -o ro,mode=0711 none ${m.at('state')}`) });
  });

  test('harness: where acpd harness install puts it', () => {
    const m = new Machine(0);
    const bin = '/opt/acpd/harnesses/codex/bin';

    script(m.at('codex'), 'echo codex-cli 0.99.0');
    const program = within(m, `mkdir -p /opt && mount -t tmpfs -o mode=0755 none /opt && mkdir -p ${bin} && cp ${m.at('codex')} ${bin}`);
    assert.equal(m.run({}, { program }).said.findings.find((f) => f.subject === 'codex').message, `codex-cli 0.99.0, ${bin}/codex`);
  });

  test('certificates: there are none', () => {
    const m = new Machine(0);

    m.trouble('certificates', /there are none/, {}, { program: within(m, 'for d in /etc/ssl /etc/pki/tls; do [ ! -d $d ] || mount -t tmpfs none $d || exit; done') });
  });

  test('users: a file of accounts that is too large is not read', () => {
    const m = new Machine(0);

    fs.copyFileSync('/etc/passwd', m.at('passwd'));
    fs.truncateSync(m.at('passwd'), 1 << 30);
    m.trouble('users', /\/etc\/passwd is missing, no file, or too large/, {}, { program: within(m, `mount --bind ${m.at('passwd')} /etc/passwd`) });
  });

  test('root: empty passwords, sudo, sshd; only warnings where agents have no user of their own', () => {
    const m = new Machine(0);

    openEtc(m.dir, 'nobody');
    const program = insideEtc(m.dir, 'open', ACPD);
    const env = { PATH: `${m.tools}:/usr/sbin:/usr/bin:/sbin:/bin` };
    const found = m.trouble('root', /root has an empty password/, { 'agent-user': 'nobody' }, { program, env });

    assert.ok(found.length >= 4 && found.some((f) => /sshd takes empty/.test(f.message)), JSON.stringify(found));
    assert.equal(m.run({}, { program, env }).status, 0);
  });
});

test('mcp and claim: what a daemon says of itself', async (t) => {
  const m = new Machine(process.getuid());

  fs.writeFileSync(m.at('mcp.json'), JSON.stringify({ mcpServers: { gone: { command: '/no/such' } } }));
  const d = await Daemon.startFor(t, { flags: { mcpConfig: m.at('mcp.json') } });
  assert.equal(m.trouble('mcp', /server gone failed/, { 'run-dir': d.runDir })[0].subject, 'server gone');
  const unclaimed = await Daemon.startFor(t, { token: null });
  m.trouble('claim', /no: acpd claim/, { 'run-dir': unclaimed.runDir });
  const { said: whole } = m.run({ 'run-dir': unclaimed.runDir });
  assert.equal(whole.daemon.claimed, false);
  await Promise.all([d.stop(), unclaimed.stop()]);
});

test('the settings of the unit are taken as images/README.md says', () => {
  const [line] = fs.readFileSync(path.join(ROOT, 'images/README.md'), 'utf8').match(/^env \$\(sed .*doctor$/m);
  const command = `${line.replace('/etc/systemd/system/acpd.service', `${ROOT}images/acpd.service`).replace('/opt/acpd/bin/acpd', ACPD)} --json`;
  const { stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8', timeout: patience(30000) });
  const { findings } = JSON.parse(stdout);

  assert.equal(stderr, '');
  assert.ok(findings.some((f) => f.id === 'port' && f.message.includes('0.0.0.0:2270')), stdout);
  assert.ok(findings.some((f) => f.id === 'directory' && f.subject === 'workspaces' && f.message.includes('/srv/workspaces')), stdout);
});

test('each kind in images/README.md was made, but those that other files make; the man page has the same codes', { skip: !rootHasNamespaces && 'not all of them could be made' }, () => {
  const man = fs.readFileSync(path.join(ROOT, 'daemon/acpd.1'), 'utf8');

  assert.deepEqual([...CODES.keys()].filter((k) => !made.has(k)), ['state'], 'robust/state.test.mjs makes it');
  assert.deepEqual([...CODES.values()], [...CODES.values()].map((_, i) => 10 + i));
  for (const code of CODES.values())
    assert.match(man, new RegExp(`^[.]It ${code}\n\\S`, 'm'));
});

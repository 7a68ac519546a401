// SPDX-License-Identifier: Apache-2.0
// `acpd confine try`: what a command was refused under a level, told exactly; by a script that does forbidden things, and by one that does
// nothing else.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import test, { after, before } from 'node:test';
import { ACPD } from '../../lib/daemon.mjs';
import { othersHaveNamespaces } from '../../lib/namespaces.mjs';
import { hasDevices, insideDevices } from '../../lib/open-devices.mjs';
import * as procs from '../../lib/procs.mjs';
import { acpd } from '../run.mjs';

const X64 = process.arch === 'x64' && fs.existsSync('/usr/bin/perl') ? {} : { skip: 'the scripts know the numbers of x86-64' };
const AS = process.getuid() === 0 ? ['--agent-user', 'nobody'] : [];
const FAR = '127.0.0.2'; // no program takes it for its own loopback
const DEVICES = ['/dev/fuse', '/dev/net/tun', '/dev/userfaultfd'];
let dir;

before(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-try-'));
  fs.chmodSync(dir, 0o755);
});
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const opens = (file) => {
  try {
    fs.closeSync(fs.openSync(file, 'r+'));
    return true;
  } catch {
    return false;
  }
};
const run = (level, script, args = [], opts = {}) => acpd(['confine', 'try', '--level', level, '--cwd', dir, ...AS, ...args, '--', '/usr/bin/perl', '-e', script],
  { cwd: dir, timeout: 30_000, ...opts });

// With --json: {code, report, output: what the command printed}.
async function tried(level, script, args = []) {
  const { code, stdout, stderr } = await run(level, script, ['--json', ...args]);

  assert.match(stdout, /^\{.*\}\n$/, stderr);
  return { code, report: JSON.parse(stdout), output: stderr };
}

// Name, number and arguments of a call, what it fails with, and how the report has it.
const FORBIDDEN = [
  { call: 'socket', syscall: '41, 17, 3, 0', detail: 'AF_PACKET SOCK_RAW', errno: 'EAFNOSUPPORT', number: 97 },
  { call: 'socket', syscall: '41, 40, 1, 0', detail: 'AF_VSOCK SOCK_STREAM', errno: 'EAFNOSUPPORT', number: 97 },
  { call: 'ioctl', syscall: '16, 0, 0x5412, 0', detail: 'TIOCSTI', errno: 'EPERM', number: 1 },
  { call: 'keyctl', syscall: '250, 7', detail: '0x7', errno: 'EPERM', number: 1 },
  { call: 'bpf', syscall: '321, 5', detail: '0x5', errno: 'EPERM', number: 1 },
  { call: 'request_key', syscall: '249, $user, $name, 0, 0', detail: 'user', errno: 'EPERM', number: 1 },
];
const STRICT = [
  { call: 'unshare', syscall: '272, 0x10020000', detail: 'CLONE_NEWUSER|CLONE_NEWNS', errno: 'EPERM', number: 1, rule: 'level guarded' },
  { call: 'mount', syscall: '165, $name, $mnt, $type, 0, 0', detail: 'tmpfs /mnt', errno: 'EPERM', number: 1, rule: 'level guarded' },
  { call: 'chroot', syscall: '161, $here', detail: () => fs.realpathSync(dir) + '/.', errno: 'EPERM', number: 1, rule: 'level guarded' },
];
const HARMLESS = { call: 'io_uring_setup', syscall: '425, 1, 0', errno: 'ENOSYS', number: 38, rule: 'nothing to do: programs take another way' };

const STRINGS = 'my ($user, $name, $mnt, $type, $here) = ("user", "name", "/mnt", "tmpfs", "."); '; // perl hands over no constants
const script = (rows, times = 1) => STRINGS + rows.map((r) => `for (1..${times}) { syscall(${r.syscall}); $e = $!+0; } print STDOUT "$e ";`).join(' ');
const told = (rows, count = 1) => rows.map((r) => ({ call: r.call, ...(r.detail && { detail: r.detail instanceof Function ? r.detail() : r.detail }),
  errno: r.errno, count, rule: r.rule ?? 'none but level open' }));
const bare = (refused) => refused.map(({ why, harmless, ...r }) => r);

for (const [level, rows] of [['guarded', FORBIDDEN], ['strict', [...FORBIDDEN, ...STRICT]]]) {
  test(`${level}: each forbidden call fails with its errno, and is told once with what it was about`, X64, async () => {
    const { code, report, output } = await tried(level, `${script(rows, 3)} exit 5;`);

    assert.deepEqual(output.trim().split(' ').map(Number), rows.map((r) => r.number), 'as without anybody who watches');
    assert.deepEqual(bare(report.refused), told(rows, 3));
    assert.ok(report.refused.every((r) => r.why.length > 4));
    assert.deepEqual([code, report.exitCode, report.level], [3, 5, { requested: level, achieved: level, missing: [] }]);
  });
}

test('the code of the command is kept where nothing is refused, and where what is needs no rule', X64, async () => {
  assert.equal((await run('guarded', 'exit 7;')).code, 7);
  const { code, report } = await tried('guarded', `${script([HARMLESS])} exit 4;`);
  assert.deepEqual([code, report.exitCode, bare(report.refused)], [4, 4, told([HARMLESS])]);
  assert.equal(report.refused[0].harmless, true);
  const killed = await tried('guarded', 'kill 9, $$;');
  assert.deepEqual([killed.code, killed.report.signal, killed.report.refused], [137, 9, []]);
  const open = await tried('open', 'exit 6;');
  assert.deepEqual([open.code, open.report.level.achieved, open.report.refused], [6, 'open', []]);
});

test('its streams are those of the command; the report is on standard error', X64, async () => {
  const { code, stdout, stderr } = await run('guarded', `print "out: ", <STDIN>; print STDERR "err\\n"; ${script(FORBIDDEN.slice(3, 4))} $| = 1; print "\\n";`, [], { input: 'a line' });

  assert.equal(code, 3);
  assert.equal(stdout, 'out: a line1 \n');
  assert.match(stderr, /^err\nacpd: level guarded: exit code 0; refused:\n {2}keyctl 0x7: EPERM \(.+\)\n {6}allowed by: none but level open\n$/);
});

test('a connection is named with the rule that opens it', X64, async () => {
  const connect = `use Socket; socket(S, AF_INET, SOCK_STREAM, 0); connect(S, pack_sockaddr_in(443, inet_aton("192.0.2.7"))); print STDOUT $!+0;
    socket(U, AF_INET, SOCK_DGRAM, 0); connect(U, pack_sockaddr_in(53, inet_aton("192.0.2.8")));
    socket(L, AF_INET, SOCK_STREAM, 0); connect(L, pack_sockaddr_in(9, inet_aton("127.0.0.1")));`;

  for (const args of [['strict'], ['guarded', '--network', '{"mode":"off"}']]) {
    const { code, report, output } = await tried(args[0], connect, args.slice(1));
    assert.deepEqual([code, output], [3, '101']);
    assert.deepEqual(report.refused.map((r) => [r.call, r.detail, r.errno, r.count]),
      [['connect', '192.0.2.7:443', 'ENETUNREACH', 1], ['connect', '192.0.2.8:53', 'ENETUNREACH', 1]]);
    assert.match(report.refused[0].rule, /"allow": \[\{"host": "192\.0\.2\.7", "ports": \[443\]\}\]/);
    assert.match(report.refused[1].rule, /proxy resolves names/);
  }
});

test('strict: what may not be written is named with where it could be, and nothing else is', X64, async () => {
  fs.chmodSync(dir, 0o777);
  const writes = `sub t { my ($ok) = @_; print STDOUT ($ok ? "0 " : $!+0 . " "); }
    t(open(F, ">", "/usr/share/acpd-x")); t(mkdir("/var/lib/acpd-x")); t(open(F, ">>", "/usr/lib/../share/acpd-x")); t(symlink("a", "/opt/acpd-x"));
    t(open(F, ">", "inside")); t(open(F, ">", "$ENV{HOME}/x")); t(open(F, ">", "/tmp/x")); t(open(F, ">", "/dev/null")); t(open(F, "<", "/etc/passwd"));
    t(mkdir("/usr")); t(unlink("/usr/share/none")); t(chdir("/usr/share")); t(open(F, ">", "relative"));`;
  const { code, report, output } = await tried('strict', writes);

  assert.equal(output, '30 30 30 30 0 0 0 0 0 17 2 0 30 ');
  assert.equal(code, 3);
  assert.deepEqual(report.refused.map((r) => `${r.call} ${r.detail} ${r.errno} ${r.count}`), ['openat /usr/share/acpd-x EROFS 1', 'mkdir /var/lib/acpd-x EROFS 1',
    'openat /usr/lib/../share/acpd-x EROFS 1', 'symlink /opt/acpd-x EROFS 1', 'openat /usr/share/relative EROFS 1']);
  assert.match(report.refused[1].rule, /additionalDirectories \["\/var\/lib"\]$/);
});

test('strict by who is not root, working and at home below a directory that is the session\'s own', { skip: !othersHaveNamespaces && 'no namespaces' }, async () => {
  fs.chmodSync(dir, 0o777);
  for (const TMPDIR of ['/tmp', '/var/tmp']) {
    const { code, stdout, stderr } = await acpd(['confine', 'try', '--level', 'strict', '--cwd', dir, '--', '/bin/sh', '-c', 'echo "$HOME"; : >"$HOME/x" && : >x && : >/tmp/y && echo *'],
      { cwd: dir, env: { TMPDIR }, uid: process.getuid() === 0 ? 65534 : undefined });

    assert.deepEqual([code, stderr], [0, 'acpd: level strict: exit code 0; nothing was refused\n']);
    assert.match(stdout, new RegExp(`^${TMPDIR}/acpd-try-\\S+\\n(.* )?x\\n$`));
    fs.rmSync(path.join(dir, 'x'));
  }
});

test('a command that does nothing but what is refused is bounded, and so is what it can write into the report', X64, async () => {
  const flood = await tried('guarded', 'syscall(250, $_) for (1..20000);');

  assert.deepEqual([flood.code, flood.report.refused.length, flood.report.more], [3, 128, 20000 - 128]);
  const same = await tried('guarded', 'syscall(250, 1) for (1..20000);');
  assert.deepEqual(same.report.refused.map((r) => [r.call, r.count]), [['keyctl', 20000]]);
  const text = await run('guarded', String.raw`my @types = ("z" x 3000, "a" x 400 . "\xc3", "\e[2Jx\xff\n"); syscall(249, $_, $_, 0, 0) for (@types);`);
  assert.deepEqual([...text.stderr.matchAll(/^ {2}request_key( \S+)?: EPERM \(/gm)].map((m) => m[1]), [undefined, ` ${'a'.repeat(400)}?`, ' ?[2Jx??']);
});

test('devices that the command could open are covered at guarded', { skip: !hasDevices && 'not root, or no devices' }, () => {
  const file = insideDevices(fs.mkdtempSync(path.join(dir, 'devices-')), ACPD);
  const open = (level) => spawnSync(file, ['confine', 'try', '--level', level, '--partial', '--cwd', dir, ...AS, '--', '/bin/sh', '-c', ': <>/dev/fuse && stat -c %t:%T /dev/fuse'],
    { encoding: 'utf8' }).stdout;

  assert.deepEqual(['open', 'guarded'].map(open), ['a:e5\n', '1:3\n']);
});

test('what it leaves behind is killed', X64, async () => {
  const mark = `acpd-try-${process.pid}`;
  const { code } = await run('guarded', `unless (fork) { setpgrp; $0 = "${mark}"; close STDOUT; close STDERR; sleep 60; } exit 0;`);
  const alive = procs.list().filter((p) => procs.cmdline(p.pid).startsWith(mark));

  assert.deepEqual([code, alive], [0, []]);
});

async function fails(args, code, pattern) {
  const r = await acpd(['confine', 'try', ...args]);

  assert.deepEqual([r.code, r.stdout], [code, ''], args.join(' '));
  assert.match(r.stderr, pattern, args.join(' '));
}

test('what cannot be run is said before anything is', async () => {
  await fails([], 2, /^acpd: usage: acpd confine try \[OPTION\.\.\.\] -- CMD\.\.\.\n$/);
  await fails(['--level', 'tight', '--', 'true'], 2, /level.*tight/);
  await fails(['--network', '{"mode":"sometimes"}', '--', 'true'], 2, /^acpd: network\.mode/);
  await fails([...AS, '--', 'no-such-command-here'], 1, /^acpd: no executable 'no-such-command-here' in PATH\n$/);
  await fails([...AS, '--cwd', '/no/such/directory', '--', 'true'], 1, /\/no\/such\/directory|working directory/);
});

test('root is told that it needs a user', { skip: process.getuid() !== 0 && 'needs root' }, async () => {
  await fails(['--agent-user', 'no-such-user-here', '--', 'true'], 2, /^acpd: --agent-user: no user named/);
  await fails(['--', 'true'], 3, /^acpd: level guarded cannot be had here: uid: .*\n(acpd: .*\n)?acpd: --partial runs the command/);
  const partial = await acpd(['confine', 'try', '--partial', '--json', '--', 'true']);
  assert.equal(partial.code, 0);
  const devices = DEVICES.filter(opens).slice(0, 1).map((file) => ({ what: 'devices', why: `${file} can be opened, and is not covered: there is no --agent-user` }));
  assert.deepEqual(JSON.parse(partial.stdout).level, { requested: 'guarded', achieved: 'partial',
    missing: [{ what: 'uid', why: 'there is no --agent-user: the command runs as root' }, ...devices] });
});

test('behind a wall its programs find a proxy, and a host that is not allowed is told', { skip: !othersHaveNamespaces && 'no namespaces' }, async (t) => {
  const server = http.createServer((req, res) => res.end('here')).listen(0, FAR);

  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address();
  const network = JSON.stringify({ mode: 'allowlist', allow: [{ host: FAR, ports: [port] }] });
  const { code, stdout, stderr } = await acpd(['confine', 'try', '--level', 'strict', '--cwd', dir, ...AS, '--json', '--network', network, '--upstream-allow', FAR, '--',
    '/bin/sh', '-c', `curl -sS -m 10 http://${FAR}:${port}/; curl -sS -m 10 http://other.example/; curl -sS -m 10 http://other.example/; curl -sSg -m 10 https://[2001:db8::1]/`], { cwd: dir, timeout: 60_000 });
  const report = JSON.parse(stdout);
  const rule = (host, at) => `network {"mode": "allowlist", "allow": [{"host": "${host}", "ports": [${at}]}]}, and the proxy (HTTPS_PROXY)`;

  assert.match(stderr, /^hereHOST_NOT_ALLOWED/);
  assert.deepEqual([code, report.refused], [3, [{ call: 'proxy', detail: 'other.example:80', errno: 'EACCES', count: 1, rule: rule('other.example', 80) },
    { call: 'proxy', detail: '[2001:db8::1]:443', errno: 'EACCES', count: 1, rule: rule('2001:db8::1', 443) }]]);
  const wrong = await acpd(['confine', 'try', '--upstream-allow', 'http://x', '--', '/bin/true']);
  assert.equal(wrong.code, 2);
});

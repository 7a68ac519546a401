// SPDX-License-Identifier: Apache-2.0
// build: release
// `acpd entrypoint` as the first process of a pid namespace: what it prints, whom it passes signals to, whom it reaps, how it ends.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before, describe } from 'node:test';
import { ACPD, STUB } from '../../lib/daemon.mjs';
import { pidNamespaces } from '../../lib/namespaces.mjs';
import { cmdline, descendants, list } from '../../lib/procs.mjs';
import { AcpClient, deadline } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { acpd } from '../run.mjs';

const NAMESPACE = pidNamespaces ? {} : { skip: 'no pid namespace can be made here' };
const SECRET = 'sk-a-value-that-nobody-may-see';
let dir;

before(() => { dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-entry-')); });
after(() => fs.rmSync(dir, { recursive: true, force: true }));

// In a namespace of its own: {child, pid (of the entrypoint, as we see it), out, ended}.
async function inNamespace(args, options) {
  const life = begin(['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', ACPD, 'entrypoint', ...args], options);

  // one that ends at once may be gone before it is seen
  life.pid = (await until(() => list().find((p) => p.ppid === life.child.pid) ?? (life.child.exitCode !== null && {}), 'the first process')).pid;
  return life;
}

function begin([program, ...args], { env = {}, within = 20000 } = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const life = { child, out: { stdout: '', stderr: '' } };

  for (const name of ['stdout', 'stderr'])
    child[name].on('data', (data) => { life.out[name] += data; });
  life.ended = deadline(new Promise((resolve) => child.on('close', (code) => resolve(code))), within, 'the entrypoint to end');
  life.ended.finally(() => child.kill('SIGKILL'));
  return life;
}

const says = (life, what, on = 'stdout') => until(() => what.exec(life.out[on]), `${what} on ${on}`);
const perl = (script) => ['--', 'perl', '-e', `$| = 1; ${script}`];

describe('as the first process', NAMESPACE, () => {
  test('a thousand orphans leave no zombie, and the command sees that it is not the first process', async () => {
    const life = await inNamespace(perl(`
      for (1..1000) { my $p = fork; if (!$p) { fork and exit; select(undef, undef, undef, 0.02); exit } waitpid $p, 0 }
      my $zombies;
      for (1..100) { $zombies = grep { open my $f, '<', $_ and <$f> =~ /\\) Z/ } glob '/proc/[0-9]*/stat'; last unless $zombies;
        select(undef, undef, undef, 0.05) }
      print $$ > 1 && getppid() == 1, " $zombies\\n";`), { within: 180000 }); // under the sanitizers, on a busy machine

    assert.equal(await life.ended, 0);
    assert.equal(life.out.stdout, '1 0\n');
  });

  for (const signal of ['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2', 'WINCH', 'CONT', 'ALRM'])
    test(`SIG${signal} reaches the command, and its answer is the exit code`, async () => {
      const life = await inNamespace(perl(`$SIG{${signal}} = sub { exit 40 }; print "up\\n"; sleep 30 while 1`));

      await says(life, /up/);
      process.kill(life.pid, `SIG${signal}`);
      assert.equal(await life.ended, 40);
    });

  test('signals go to the whole group of the command', async () => {
    const life = await inNamespace(perl(`
      my $p = fork; $SIG{USR1} = sub { print $p ? "parent\\n" : "child\\n"; exit 0 if !$p; waitpid $p, 0; exit 0 };
      print "up\\n"; sleep 30 while 1`));

    await until(() => life.out.stdout === 'up\nup\n', 'both');
    process.kill(life.pid, 'SIGUSR1');
    assert.equal(await life.ended, 0);
    assert.match(life.out.stdout, /parent/);
    assert.match(life.out.stdout, /child/);
  });

  for (const [how, script, code] of [['exits with 7', 'exit 7', 7], ['exits with 0', 'exit 0', 0],
    ['is ended by SIGKILL', 'kill KILL => $$', 137], ['is ended by SIGTERM', 'kill TERM => $$', 143]])
    test(`the command ${how}: ${code}`, async () => assert.equal(await (await inNamespace(perl(script))).ended, code));

  test('nothing of the command stays, and its standard output is its alone', async () => {
    const mark = `entry-${process.pid}`;
    const life = await inNamespace(perl(`if (!fork) { setpgrp; $0 = '${mark}'; sleep 60 } print "mine\\n"; select(undef, undef, undef, 0.1)`));

    assert.equal(await life.ended, 0);
    assert.equal(life.out.stdout, 'mine\n');
    assert.deepEqual(list().filter((p) => cmdline(p.pid).startsWith(mark)), []);
  });
});

describe('where others come first', () => {
  const entry = (args, opts) => acpd(['entrypoint', ...args], opts);

  test('it reaps, keeps the code and leaves nothing there too', async () => {
    const r = await entry(perl(`if (!fork) { setpgrp; sleep 60 } print getppid() > 1; exit 9`));

    assert.deepEqual([r.code, r.stdout], [9, '1']);
  });

  test('the banner has versions, harnesses, variables; of a command only its name; no value', async () => {
    const mcp = path.join(dir, 'mcp.json');

    fs.writeFileSync(mcp, JSON.stringify({ mcpServers: { one: { command: '/bin/true', env: { KEY: SECRET } }, two: { url: 'https://x.example', headers: { a: '${MY_KEY}' } } } }));
    const script = `trap 'exit 0' TERM; while :; do sleep 0.1; done # ${SECRET}`;
    const life = begin([ACPD, 'entrypoint', '--require', 'MY_KEY,MY_OTHER', '--require', 'HOME', '--', 'sh', '-c', script],
      { env: { MY_KEY: SECRET, MY_OTHER: SECRET, ACPD_MCP_CONFIG: mcp, ACPD_PASS_ENV: 'MY_KEY' } });

    await says(life, /^ {2}git +git version/m, 'stderr');
    life.child.kill();
    const r = { code: await life.ended, ...life.out };
    const line = (what, text) => assert.match(r.stderr, new RegExp(`^  ${what} +${text}$`, 'm'));

    assert.deepEqual([r.code, r.stdout], [0, '']);
    assert.match(r.stderr, /^acpd \d\S+ entrypoint, process \d+\n/);
    line('node', 'v\\d+\\..*');
    line('git', 'git version .*');
    line('python3', '.+');
    for (const id of ['codex', 'opencode', 'pi'])
      line('harness', `${id}: .+`);
    line('mcp config', `${mcp}: 2 servers`);
    for (const name of ['MY_KEY', 'MY_OTHER', 'HOME'])
      line('variable', `${name}: set`);
    line('command', 'sh');
    assert.ok(!r.stderr.includes(SECRET));
  });

  test('the command does not wait for versions, and what is asked does not outlive it; a harness says its own beside its pin', async () => {
    const bin = path.join(dir, 'slow');
    const mark = `7${String(process.pid).padStart(7, '0')}`;

    fs.mkdirSync(bin);
    fs.writeFileSync(path.join(bin, 'node'), `#!/bin/sh\nexec sleep ${mark}\n`, { mode: 0o755 });
    const env = { PATH: `${bin}:/usr/bin:/bin` };
    const asked = () => list().filter((p) => cmdline(p.pid).includes(`sleep\0${mark}`));
    const life = begin([ACPD, 'entrypoint', ...perl('$SIG{TERM} = sub { exit 0 }; print "up\\n"; sleep 30 while 1')], { env });

    fs.chmodSync(dir, 0o755);
    await says(life, /up/);
    assert.doesNotMatch(life.out.stderr, /^ {2}node/m);
    await until(() => asked().length, 'node to be asked');
    life.child.kill();
    assert.equal(await life.ended, 0);
    assert.deepEqual(asked(), []);

    fs.writeFileSync(path.join(bin, 'node'), '#!/bin/sh\necho v99.1.2\n', { mode: 0o755 });
    fs.writeFileSync(path.join(bin, 'codex'), '#!/bin/sh\nprintf "codex-cli 9.9.9\\033[31m\\nmore\\n"\n', { mode: 0o755 });
    const quick = begin([ACPD, 'entrypoint', ...perl('$SIG{TERM} = sub { exit 0 }; print STDERR "up\\n"; sleep 30 while 1')], { env });

    await says(quick, /^up$/m, 'stderr');
    await says(quick, /^ {2}version +codex: codex-cli 9\.9\.9[ [31m]*$/m, 'stderr');
    assert.match(quick.out.stderr, /^ {2}node +v99\.1\.2$/m);
    assert.match(quick.out.stderr, new RegExp(`^  harness +codex: ${bin}/codex, pinned \\S+$`, 'm'));
    quick.child.kill();
    assert.equal(await quick.ended, 0);
  });

  const ran = () => path.join(dir, 'ran');
  const REFUSED = [
    ['a required variable is missing', ['--require', 'PATH,NOT_THERE'], {}, /variable +PATH: set\n +variable +NOT_THERE: MISSING\nacpd: 1 required variable is not set\n$/],
    ['one is set to nothing', ['--require', 'EMPTY_ONE'], { EMPTY_ONE: '' }, /EMPTY_ONE: MISSING/],
    ['a value stands for a name', ['--require', `KEY=${SECRET}`], {}, /^acpd: --require: the name of a variable is/m],
    ['a setting has no sense', [], { ACPD_PING_INTERVAL: 'often' }, /^acpd: --ping-interval: 'often' is not a number/m],
    ['a setting has an effect that cannot be', ['--serve'], { ACPD_STATE: '/proc/not/here' }, /^acpd: --state: \/proc\/not\/here: /m],
    ['nothing reads a setting', ['--serve'], { ACPD_STATE: path.join(os.tmpdir(), 'acpd-none'), ACPD_LISTENN: 'x' }, /^acpd: ACPD_LISTENN: nothing reads this variable/m],
    ['the manifest is not there', [], { ACPD_HARNESS_CONFIG: '/not/there.json' }, /not\/there\.json/],
  ];
  for (const [what, args, env, text] of REFUSED)
    test(`${what}: 2, and the command does not run`, async () => {
      const r = await entry([...args, '--', 'touch', ran()], { env });

      assert.equal(r.code, 2, r.stderr);
      assert.match(r.stderr, text);
      assert.ok(!r.stderr.includes(SECRET));
      assert.ok(!fs.existsSync(ran()));
    });

  test('a command that is not there: 127, and one that is no program: 126', async () => {
    const r = await entry(['--', 'no-such-command', SECRET]);

    assert.deepEqual([r.code, r.stderr.split('\n').at(-2)], [127, "acpd: no executable 'no-such-command' in PATH"]);
    fs.writeFileSync(path.join(dir, 'broken'), '\x7fELF', { mode: 0o755 });
    assert.equal((await entry(['--', './broken'], { cwd: dir })).code, 126);
  });
});

test('an unknown key of the file of MCP servers is a warning, as for serve', async () => {
  const file = path.join(dir, 'e2b-sandbox.config.json');

  fs.writeFileSync(file, JSON.stringify({ name: 'box', mcp_servers: [], startup: {}, newer: 1 }));
  for (const args of [['entrypoint', '--', 'true'], ['entrypoint', '--serve', '--', 'true'], ['serve', '--check']]) {
    const { code, stderr } = await acpd(args, { env: { ACPD_MCP_CONFIG: file, ACPD_STATE: path.join(dir, 'state'), ACPD_RUN_DIR: path.join(dir, 'run'), ACPD_LISTEN: '127.0.0.1:0' } });

    assert.equal(code, 0, stderr);
    assert.deepEqual(stderr.match(/^acpd: warning: .*$/gm), [`acpd: warning: --mcp-config ${file}: newer: this key says nothing here`], args.join(' '));
  }
});

describe('--serve', NAMESPACE, () => {
  const token = 'a-token-of-the-entrypoint-test';
  let env;

  before(() => {
    fs.writeFileSync(path.join(dir, 'token'), token, { mode: 0o600 });
    fs.writeFileSync(path.join(dir, 'h.json'), JSON.stringify({ harnesses: [{ id: 'stub', command: STUB, args: ['--store', dir] }] }));
    env = { ACPD_LISTEN: '127.0.0.1:0', ACPD_STATE: path.join(dir, 'state'), ACPD_RUN_DIR: path.join(dir, 'run'), ACPD_TOKEN_FILE: path.join(dir, 'token'),
      ACPD_HARNESS_CONFIG: path.join(dir, 'h.json'), ACPD_DEFAULT_HARNESS: 'stub' };
  });

  const serve = (script) => inNamespace(['--serve', ...perl(script)], { env });
  const port = async (life) => Number((await says(life, /^acpd listening on ws:\/\/127\.0\.0\.1:(\d+)\/acp$/m, 'stderr'))[1]);
  const daemonOf = (life) => descendants(life.pid).find((p) => cmdline(p.pid).split('\0')[1] === 'serve')?.pid;

  test('the banner has the system, and the state of each MCP server of the daemon', async () => {
    const mcp = path.join(dir, 'servers.json');

    fs.writeFileSync(mcp, JSON.stringify({ mcpServers: { good: { command: ACPD, args: ['mcp', '--builtin'] }, bad: { command: '/nonexistent' } } }));
    const life = await inNamespace(['--serve', ...perl('print STDERR "up\\n"; sleep 30 while 1')], { env: { ...env, ACPD_MCP_CONFIG: mcp } });

    await says(life, /^ {2}mcp +good: ready, modern, \d+ tools, \d+ ms$/m, 'stderr');
    await says(life, /^ {2}mcp +bad: failed, COMMAND_NOT_FOUND$/m, 'stderr');
    assert.match(life.out.stderr, new RegExp(`^  system +.+, Linux ${os.release().replaceAll('.', '\\.')} \\S+$`, 'm'));
    assert.match(life.out.stderr, /^ {2}machine +\d+ processors?, \d+ MiB of memory, \d+ MiB free on \/$/m);
    process.kill(life.pid, 'SIGTERM');
    await life.ended;
  });

  test('a turn of a session runs in the daemon beside the command; when the command ends, both have', async () => {
    const life = await serve('$SIG{USR1} = sub { exit 5 }; print STDERR "up\\n"; sleep 30 while 1');
    const c = await AcpClient.connect({ port: await port(life), token });

    await c.initialize();
    const { sessionId } = await c.newSession({ cwd: dir });
    assert.equal((await c.prompt(sessionId, 'echo hello')).stopReason, 'end_turn');
    const daemon = daemonOf(life);

    await says(life, /^up$/m, 'stderr');
    process.kill(life.pid, 'SIGUSR1');
    assert.equal(await life.ended, 5);
    assert.equal(cmdline(daemon), '');
    assert.equal(life.out.stdout, '');
    // it drained: the session is closed in order, not found as after a kill
    assert.match(life.out.stderr, /"msg":"stopping"/);
  });

  test('SIGTERM goes to both, and the exit code is the command\'s', async () => {
    const life = await serve('$SIG{TERM} = sub { select(undef, undef, undef, 0.5); exit 6 }; print "up\\n"; sleep 30 while 1');

    await port(life);
    await says(life, /up/);
    process.kill(life.pid, 'SIGTERM');
    await until(() => !daemonOf(life), 'the daemon to end first');
    assert.equal(await life.ended, 6);
  });

  test('a daemon that is lost takes the command along, with its own exit code', async () => {
    const life = await serve('$SIG{TERM} = sub { print "told\\n"; exit 0 }; print "up\\n"; sleep 30 while 1');

    await port(life);
    await says(life, /up/);
    process.kill(daemonOf(life), 'SIGKILL');
    assert.equal(await life.ended, 137);
    assert.equal(life.out.stdout, 'up\ntold\n');
  });

  test('a daemon that does not end has ACPD_DRAIN and 15 s', async () => {
    const own = { ...env, ACPD_DRAIN: '2', ACPD_STATE: path.join(dir, 'stuck'), ACPD_RUN_DIR: path.join(dir, 'run-stuck') };
    const life = await inNamespace(['--serve', ...perl('$SIG{USR1} = sub { exit 5 }; print "up\\n"; sleep 60 while 1')], { env: own, within: 40000 });

    await port(life);
    await says(life, /up/);
    process.kill(daemonOf(life), 'SIGSTOP');
    const begun = Date.now();

    process.kill(life.pid, 'SIGUSR1');
    assert.equal(await life.ended, 5);
    const seconds = (Date.now() - begun) / 1000;

    assert.ok(seconds >= 16.9, `${seconds} s`);
  });

  test('a daemon that cannot start ends the container with its code', async () => {
    const life = await inNamespace(['--serve', ...perl('print "up\\n"; sleep 30')], { env: { ...env, ACPD_LISTEN: '192.0.2.1:2270' } });

    assert.equal(await life.ended, 1);
    assert.match(life.out.stderr, /192\.0\.2\.1/);
  });
});

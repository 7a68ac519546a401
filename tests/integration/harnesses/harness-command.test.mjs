// SPDX-License-Identifier: Apache-2.0
// `acpd harness list|install|verify`, with the real packages of the tests, and with fakes: programs that misbehave when they are asked for
// their version, and an npm that is offline, slow or brings something else. Each fake says that it is one.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { CODEX, NODE, OPENCODE, PI } from '../../harness/programs.mjs';
import { namesBelow } from '../../lib/vanishing.mjs';
import { acpd } from '../run.mjs';

const ROOT = path.join(import.meta.dirname, '../../..');
const PI_PACKAGE = path.join(PI, '../../..');
const X64 = process.arch === 'x64' ? {} : { skip: 'the pins of OpenCode and Codex are for x86-64' };
let dir, real, piPackage;

before(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-harness-'));
  fs.chmodSync(dir, 0o755);
  real = bin('real', {});
  for (const [name, program] of [['opencode', OPENCODE], ['codex', CODEX], ['pi', PI], ['node', NODE]])
    fs.symlinkSync(program, path.join(real, name));
  piPackage = path.join(dir, 'pi.tgz');
  // npm packs below "package/"; modes as a careless umask leaves them
  execFileSync('tar', ['-cf', piPackage, '--use-compress-program=gzip -1', '--mode=u=rwX,go=', '--transform=s,^[.],package,', '-C', PI_PACKAGE, '.']);
});
after(() => fs.rmSync(dir, { recursive: true, force: true }));

// A directory of fake programs: {name: text of a shell script}.
function bin(name, programs) {
  const to = path.join(dir, name);

  fs.mkdirSync(to);
  fs.chmodSync(to, 0o755);
  for (const [program, text] of Object.entries(programs)) {
    fs.writeFileSync(path.join(to, program), `#!/bin/sh\n# a fake of the tests\n${text}\n`);
    fs.chmodSync(path.join(to, program), 0o755);
  }
  return to;
}

const run = (args, { PATH = real, ...env } = {}) => acpd(['harness', ...args], { env: { PATH: `${PATH}:/usr/bin:/bin`, ...env }, timeout: 60_000 });
const prefix = (name) => path.join(dir, name);
const left = (p) => fs.readdirSync(p).filter((name) => name !== '.lock');

async function listed(args, env) {
  const { code, stdout, stderr } = await run(['list', '--json', '--prefix', prefix('none'), ...args], env);

  assert.deepEqual([code, stderr], [0, '']);
  return Object.fromEntries(JSON.parse(stdout).harnesses.map((h) => [h.id, h]));
}

async function installed(args, env) {
  const { code, stdout, stderr } = await run(['install', '--json', ...args], env);

  return { code, stderr, ...JSON.parse(stdout) };
}

test('the real programs: path, version as they say it, and the pins are those of the lock and of the image', X64, async () => {
  const all = await listed([]);
  const lock = JSON.parse(fs.readFileSync(path.join(ROOT, 'tests/package-lock.json'), 'utf8')).packages;
  const image = fs.readFileSync(path.join(ROOT, 'e2b.Dockerfile'), 'utf8');

  assert.deepEqual(Object.keys(all), ['opencode', 'codex', 'pi', 'copilot', 'claude', 'gemini']);
  for (const [id, version, program] of [['opencode', '1.18.34', OPENCODE], ['codex', 'codex-cli 0.171.0', CODEX], ['pi', '1.6.0', PI]]) {
    const { pin, ...h } = all[id];
    const row = Object.entries(lock).find(([at, p]) => (p.name ?? at.replace('node_modules/', '')) === pin.package && at.split('node_modules/').length === 2);

    assert.deepEqual([h.installed, h.path, h.version, h.versionFits], [true, path.join(real, id), version, true]);
    assert.equal(row[1].version, pin.release, id);
    assert.equal(path.join(ROOT, 'tests', row[0], pin.file), program, id);
    assert.ok(image.includes(`${pin.package}@${pin.release} `), `the image has another ${id}`);
  }
  assert.deepEqual([all.copilot.installed, all.copilot.pin.release, all.copilot.path], [false, lock['node_modules/@github/copilot-linux-x64'].version, undefined]);
});

test('verify: the real programs are those of the pins; another one is exit code 3, and is named', X64, async () => {
  const good = await run(['verify', '--json', '--prefix', prefix('none')]);
  assert.deepEqual([good.code, JSON.parse(good.stdout).harnesses.map((h) => [h.id, h.verified])],
    [0, [['opencode', true], ['codex', true], ['pi', true]]], good.stderr);
  const other = await run(['verify', '--prefix', prefix('none')], { PATH: bin('other', { codex: 'echo codex-cli 0.171.0' }) });
  assert.equal(other.code, 3);
  assert.match(other.stdout, /^codex +codex: its SHA-256 is [0-9a-f]{64}, that of @openai\/codex@0\.171\.0-linux-x64 is /m);
  const own = path.join(dir, 'own.json');

  fs.writeFileSync(own, JSON.stringify({ harnesses: [{ id: 'mine', command: 'true' }] }));
  for (const [args, code, said] of [[['nope'], 2, /no harness 'nope'/], [['mine', '--harness-config', own], 2, /has no pin/], [['copilot'], 1, /not installed/]]) {
    const r = await run(['verify', ...args, '--prefix', prefix('none')]);
    assert.deepEqual([r.code, said.test(r.stderr)], [code, true], r.stderr);
  }
  const none = await acpd(['harness', 'verify', 'codex', '--prefix', prefix('none')], { env: { PATH: prefix('none') } });
  assert.deepEqual([none.code, none.stderr], [1, "acpd: harness 'codex' is not installed\n"]);
});

test('a program that hangs, floods, fails or lies about its version is said to; another does not wait for it longer than told', X64, async () => {
  const PATH = bin('bad', {
    opencode: 'sleep 600 & exec sleep 600',
    codex: 'exec yes 0.171.0',
    pi: 'echo "out of luck" >&2; exit 7',
    copilot: 'echo "1.0.99 \x1b[31mred"',
    gemini: 'tr "\\0" a < /dev/zero',
  });
  const all = await listed(['--timeout', '1'], { PATH });

  assert.deepEqual(Object.values(all).filter((h) => h.installed).map((h) => [h.id, h.problem?.reason, h.version]), [
    ['opencode', 'VERSION_TIMEOUT', undefined], ['codex', 'VERSION_TOO_LONG', undefined], ['pi', 'VERSION_FAILED', undefined],
    ['copilot', undefined, '1.0.99  [31mred'], ['gemini', 'VERSION_TOO_LONG', undefined]]);
  assert.match(all.opencode.problem.message, /within 1 s/);
  assert.match(all.pi.problem.message, /exit code 7.*out of luck/);
  const lies = await listed([], { PATH: bin('lies', { codex: 'echo codex-cli 0.171.01', opencode: 'echo 11.18.34' }) });
  assert.deepEqual([lies.codex.versionFits, lies.opencode.versionFits], [false, false]);
});

test('install from a package that npm packs: all may read it whatever the umask, and it is the program that is found', async () => {
  const p = prefix('from-package');
  const umask = process.umask(0o077);
  const r = await installed(['pi', '--from', piPackage, '--prefix', p]).finally(() => process.umask(umask));

  assert.deepEqual([r.code, r.installed, r.already, r.stderr], [0, true, false, '']);
  assert.deepEqual(left(p), ['pi']);
  for (const name of ['.', ...namesBelow(p)]) {
    const sb = fs.lstatSync(path.join(p, name));
    if (name !== '.lock' && !sb.isSymbolicLink())
      assert.equal(sb.mode & 0o777, sb.isDirectory() || sb.mode & 0o100 ? 0o755 : 0o644, name);
  }
  const { stdout } = await run(['list', '--json', '--prefix', p]);
  const pi = JSON.parse(stdout).harnesses.find((h) => h.id === 'pi');
  assert.deepEqual([pi.path, pi.version], [path.join(p, 'pi/bin/pi'), '1.6.0'], 'asked as a user that may do nothing');
  assert.equal((await run(['verify', 'pi', '--prefix', p])).code, 0);
  // a file more is another package
  fs.writeFileSync(path.join(p, 'pi/node_modules/@earendil-works/pi-coding-agent/dist/more.js'), '');
  assert.equal((await run(['verify', 'pi', '--prefix', p])).code, 3);
  const again = await installed(['pi', '--from', piPackage, '--prefix', p]);
  assert.deepEqual([again.code, again.already], [0, false], 'what was there and wrong is replaced');
  assert.equal((await run(['verify', 'pi', '--prefix', p])).code, 0);
  assert.deepEqual(left(p), ['pi']);
  assert.equal((await installed(['pi', '--from', '/nowhere', '--prefix', p])).already, true);
});

test('what is not the pinned release is refused, with nothing left of it', X64, async () => {
  const p = prefix('refused');
  const tgz = path.join(dir, 'other.tgz'), text = path.join(dir, 'text');

  execFileSync('tar', ['-czf', tgz, '--transform=s,^,package/bin/,', '-C', '/bin', 'true']);
  fs.writeFileSync(text, 'no program');
  fs.writeFileSync(path.join(dir, 'cut.tgz'), fs.readFileSync(piPackage).subarray(0, 100_000));
  for (const [id, from, code, reason] of [
    ['codex', '/bin/true', 3, 'HASH_MISMATCH'], ['opencode', tgz, 1, 'PROGRAM_UNREADABLE'], ['pi', '/bin/true', 2, 'PACKAGE_NEEDED'],
    ['pi', path.join(dir, 'cut.tgz'), 3, 'PACKAGE_REFUSED'], ['pi', text, 2, 'FILE_UNKNOWN'], ['pi', dir, 1, 'FILE_UNREADABLE'],
    ['pi', path.join(dir, 'nowhere'), 1, 'FILE_UNREADABLE']]) {
    const r = await installed([id, '--from', from, '--prefix', p]);

    assert.deepEqual([r.installed, r.problem.reason, r.code], [false, reason, code], r.stderr);
    assert.match(r.stderr, new RegExp(`acpd: ${reason}: `));
    assert.deepEqual(left(p), []);
  }
  const file = await installed(['pi', '--prefix', text]);
  assert.deepEqual([file.code, file.problem.reason], [1, 'PREFIX_NOT_WRITABLE']);
});

test('a bare executable is installed too', X64, async () => {
  const p = prefix('bare');
  const r = await installed(['opencode', '--from', OPENCODE, '--prefix', p]);

  assert.deepEqual([r.code, r.installed], [0, true], r.stderr);
  assert.ok(fs.realpathSync(path.join(p, 'opencode/bin/opencode')).startsWith(fs.realpathSync(p)));
});

// --- a fake npm: $4 is the place that it installs to ------------------------------------------------------------------------------

const fakeNpm = (text) => ({ npm: `echo "$@" >> "$FAKE_LOG"; umask 077; place=$3; ${text}` });

test('npm: offline, missing, failing or slow is an error that names harness and command; wrong content leaves nothing', X64, async () => {
  const p = prefix('npm'), FAKE_LOG = path.join(dir, 'npm.log');
  const cases = [
    ['offline', 'echo "npm error code ENOTFOUND" >&2; exit 1', 6, 'REGISTRY_UNREACHABLE'],
    ['failing', 'echo "npm error code E404" >&2; exit 1', 1, 'NPM_FAILED'],
    ['slow', 'sleep 60 & exec sleep 60', 1, 'INSTALL_TIMEOUT'],
    ['wrong', 'to=$place/node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/bin; mkdir -p $to; cp /bin/true $to/codex', 3, 'HASH_MISMATCH'],
    ['empty', 'exit 0', 1, 'PROGRAM_UNREADABLE'],
  ];

  for (const [name, text, code, reason] of cases) {
    const r = await installed(['codex', '--prefix', p, '--timeout', name === 'slow' ? '1' : '30'], { PATH: bin(`npm-${name}`, fakeNpm(text)), FAKE_LOG });

    assert.deepEqual([r.problem.reason, r.code], [reason, code], r.stderr);
    assert.match(r.problem.message, /^codex: /);
    if (['offline', 'failing', 'slow'].includes(name))
      assert.match(r.problem.message, /npm install --ignore-scripts @openai\/codex@0\.171\.0-linux-x64/);
    assert.deepEqual(left(p), [], name);
  }
  for (const line of fs.readFileSync(FAKE_LOG, 'utf8').trim().split('\n'))
    assert.match(line, /^install .* --ignore-scripts .* @openai\/codex@0\.171\.0-linux-x64$/);
  const { code, stderr } = await acpd(['harness', 'install', 'codex', '--prefix', p], { env: { PATH: prefix('none') } });
  assert.equal(code, 1);
  assert.match(stderr, /^acpd: NPM_MISSING: codex: .*npm install --ignore-scripts @openai\/codex@0\.171\.0-linux-x64/);
});

test('two installs at a time: one runs, the other waits and finds it installed; what a killed one left is removed', async () => {
  const p = prefix('two'), FAKE_LOG = path.join(dir, 'two.log');
  const to = '$place/node_modules/@earendil-works/pi-coding-agent';
  const PATH = bin('npm-good', fakeNpm(`sleep 1; mkdir -p ${to}; cp -r ${PI_PACKAGE}/. ${to}/`));

  fs.mkdirSync(path.join(p, '.pi.aaaaaa/node_modules'), { recursive: true });
  const both = await Promise.all([1, 2].map(() => installed(['pi', '--prefix', p], { PATH, FAKE_LOG })));
  assert.deepEqual(both.map((r) => [r.code, r.already]).sort(), [[0, false], [0, true]]);
  assert.equal(fs.readFileSync(FAKE_LOG, 'utf8').trim().split('\n').length, 1, 'npm ran once');
  assert.deepEqual(left(p), ['pi']);
  // the hash is what any shell gets
  const list = execFileSync('sh', ['-c', "find * -name node_modules -prune -o -type f -print | LC_ALL=C sort | xargs sha256sum"],
    { cwd: path.join(p, 'pi/node_modules/@earendil-works/pi-coding-agent') });
  assert.equal(createHash('sha256').update(list).digest('hex'), both[0].sha256);
});

test('an install that waits for another gives up in its time', async () => {
  const p = prefix('two'); // from the test above: the lock is there
  const holder = execFileSync('sh', ['-c', `flock -F ${p}/.lock sleep 600 >/dev/null 2>&1 & echo $!`]).toString().trim();
  const r = await installed(['pi', '--prefix', p, '--timeout', '1']).finally(() => process.kill(Number(holder)));

  assert.deepEqual([r.code, r.problem.reason], [1, 'INSTALL_BUSY']);
});

// --- the daemon -------------------------------------------------------------------------------------------------------------------

test('_acpd/harness/list: a program is run once for all who ask, again only when it has changed, and nobody else waits for it', X64, async (t) => {
  const log = path.join(dir, 'asked.log');
  const codex = (version) => ({ codex: `echo "$@ $HOME" >> ${log}; sleep 1; echo ${version}` });
  const PATH = bin('daemon', codex('codex-cli 0.171.0'));

  fs.writeFileSync(log, '');
  fs.chmodSync(log, 0o666); // it is written as the agent's user
  const d = await Daemon.start({ env: { PATH: `${PATH}:/usr/bin:/bin` } });
  t.after(() => d.stop());
  const [a, b] = [await d.client(), await d.client()];
  const one = async (c) => (await c.call('_acpd/harness/list')).harnesses.find((h) => h.id === 'codex');
  const asked = () => fs.readFileSync(log, 'utf8').trim().split('\n').length;
  const order = [];

  const answers = [a, b, a, a, b].map((c) => one(c).finally(() => order.push('list')));
  await a.call('_acpd/status').then(() => order.push('status'));
  for (const h of await Promise.all(answers))
    assert.deepEqual([h.installed, h.version, h.versionFits, h.problem, h.pin.release], [true, 'codex-cli 0.171.0', true, undefined, '0.171.0-linux-x64']);
  assert.deepEqual([order[0], asked()], ['status', 1], 'one program for all of them, and nobody else waits for it');
  await one(b);
  assert.equal(asked(), 1, 'nothing has changed');
  const [, home] = fs.readFileSync(log, 'utf8').match(/^--version (\/tmp\/acpd-asked-\w+)\n$/);
  assert.equal(fs.existsSync(home), false, 'its home has gone with it');
  fs.rmSync(path.join(PATH, 'codex'));
  assert.deepEqual([(await one(a)).installed, asked()], [false, 1]);
  fs.writeFileSync(path.join(PATH, 'codex'), `#!/bin/sh\n# a fake of the tests\n${codex('codex-cli 9').codex}\n`, { mode: 0o755 });
  fs.chmodSync(path.join(PATH, 'codex'), 0o755);
  const changed = await one(a);
  assert.deepEqual([changed.version, changed.versionFits, asked()], ['codex-cli 9', false, 2]);
  const { sessionId } = await a.newSession();
  const only = (await a.call('_acpd/harness/list', { sessionId })).harnesses;
  assert.deepEqual([only.map((h) => h.id), only[0].version, only[0].pin], [['stub'], undefined, undefined], 'what a manifest names is not asked');
});

test('a program that hangs ends with the daemon that asked it', async () => {
  const d = await Daemon.start({ env: { PATH: `${bin('hangs', { codex: 'sleep 600 & exec sleep 600' })}:/usr/bin:/bin` } });
  const c = await d.client();

  c.call('_acpd/harness/list').catch(() => {});
  await c.call('_acpd/status');
  await d.stop(); // leaves no process
});

// SPDX-License-Identifier: Apache-2.0
// Relative and odd paths: every option of acpd serve that takes a path, at every odd place. The daemon works there, shown by what each
// option is for, or it refuses the path and names the option. An option without a row of USES fails.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import test, { after, before, describe } from 'node:test';
import { input, run as runAgui, said, user } from '../../lib/agui.mjs';
import { fetchBundle } from '../../lib/bundles.mjs';
import { Daemon } from '../../lib/daemon.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { FIXTURE } from '../../lib/mcp.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { archiveOf, isRoot, upload } from '../../lib/workspace.mjs';
import { digestOf } from '../../lib/archives.mjs';
import { secretOf } from '../outbox/rig.mjs';
import { acpd } from '../run.mjs';

after(assertNoViolations);

const SKILL = { 'baked-one/SKILL.md': '---\nname: baked-one\ndescription: d\n---\nx\n' };
const BAKED = archiveOf({ 'baked.txt': 'baked\n' }, 'tar');
let tls, hooks;

// What each option's file has, or what its directory has; dir: the daemon makes it. at: the option's path, below where the rest is.
const USES = {
  state: { dir: true },
  'run-dir': { dir: true },
  workspaces: { dir: true },
  'tools-root': { tree: { 'here.txt': 'of the root\n' } },
  'ui-dir': { tree: { 'index.html': '<p>viewer</p>', 'app.js': '1', 'app.css': 'p {}' } },
  'archives-baked': { tree: { [digestOf(BAKED).slice(7)]: BAKED } },
  skills: { tree: SKILL },
  'token-file': { file: ({ token }) => `${token}\n`, secret: true },
  'sandbox-id-file': { file: () => 'sandbox-here\n' },
  'harness-config': { file: ({ harnesses }) => harnesses },
  'mcp-config': { file: () => JSON.stringify({ mcpServers: { fixture: { command: FIXTURE } } }) },
  webhook: { file: () => JSON.stringify([{ url: hooks.url, secret: secretOf(), events: ['turn.ended'] }]), secret: true },
  'ca-file': { file: () => tls.cert },
  profile: { file: () => JSON.stringify({ env: { COLOUR: 'red' }, workspace: { ephemeral: true } }), value: (at) => `red=${at}` },
};
const camel = (name) => name.replace(/-./g, (c) => c[1].toUpperCase());

async function pathOptions() {
  const { stdout } = await acpd(['serve', '--help']);

  return [...stdout.matchAll(/^ +--([a-z0-9-]+) (\S*(?:DIR|FILE|PATH)) /gm)].map(([, name]) => name);
}

before(async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-paths-tls-'));
  const at = (name) => path.join(dir, name);

  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost', '-addext',
    'subjectAltName=DNS:localhost', '-days', '2', '-keyout', at('key'), '-out', at('cert')], { stdio: 'ignore' });
  tls = { key: fs.readFileSync(at('key')), cert: fs.readFileSync(at('cert')) };
  fs.rmSync(dir, { recursive: true });
  hooks = https.createServer(tls, (rq, rs) => {
    hooks.taken.push(rq.headers['webhook-id']);
    rq.resume().on('end', () => rs.end());
  });
  hooks.taken = [];
  await new Promise((done) => hooks.listen(0, '127.0.0.1', done));
  hooks.host = `localhost:${hooks.address().port}`;
  hooks.url = `https://${hooks.host}/hooks`;
});
after(() => hooks.close());

function writeTree(dir, tree) {
  for (const [name, data] of Object.entries(tree)) {
    fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
    fs.writeFileSync(path.join(dir, name), data);
  }
}

// A row's file or directory at a place.
function furnish(row, at, facts) {
  if (row.dir)
    return;
  fs.mkdirSync(row.file ? path.dirname(at) : at, { recursive: true });
  if (row.file)
    fs.writeFileSync(at, row.file(facts), { mode: row.secret ? 0o600 : 0o644 });
  else
    writeTree(at, row.tree);
}

// A daemon whose options all are below base, named as named(path) says. cwd: its working directory. ready(): called before it starts.
async function daemonAt(t, base, { cwd, named = (at) => at, ready = () => {} } = {}) {
  const d = await Daemon.startFor(t, { wait: false, cwd: base, args: ['--help'] });

  await d.exited;
  const facts = { token: d.token, harnesses: fs.readFileSync(d.harnessFile) };
  const flags = { upstreamAllow: hooks.host, runDir: null };

  for (const [option, row] of Object.entries(USES)) {
    const at = path.join(base, option);

    furnish(row, at, facts);
    flags[camel(option)] = (row.value ?? ((v) => v))(named(at));
  }
  ready();
  await d.restart({ args: [], cwd, flags, wait: true });
  return d;
}

// What each option is for, on a daemon whose stateDir, runDir and so on are at the places below base.
async function smoke(d, base) {
  const c = await d.client();
  const archive = await upload(d, { 'a.txt': 'one\n' }), skill = await upload(d, { 'tools/SKILL.md': '---\nname: tools\ndescription: d\n---\nx\n' });
  const meta = { workspace: { archive, ephemeral: true }, skills: [{ archive: skill }, { builtin: 'baked-one' }], mcp: { builtin: true } };
  const { sessionId, _meta: { acpd: { cwd, skills } } } = await c.newSession({ meta });

  assert.equal(fs.realpathSync(path.dirname(cwd)), fs.realpathSync(path.join(base, 'workspaces')));
  assert.deepEqual(skills.skills.map((s) => s.installedAs).sort(), ['baked-one', 'tools']);
  assert.equal((await c.prompt(sessionId, 'write a.txt two\\n; echo done')).stopReason, 'end_turn');
  assert.match((await c.call('_acpd/workspace/diff', { sessionId })).patch, /-one\n\+two/);
  assert.equal((await c.call('_acpd/usage', { sessionId })).records.length, 1);
  assert.equal((await fetchBundle(d, sessionId)).status, 200);
  const baked = await c.newSession({ meta: { workspace: { archive: digestOf(BAKED), ephemeral: true } } });
  assert.equal(fs.readFileSync(path.join(baked._meta.acpd.cwd, 'baked.txt'), 'utf8'), 'baked\n');
  await othersOf(d, base);
  for (const id of [sessionId, baked.sessionId])
    await c.call('session/delete', { sessionId: id });
  await until(() => fs.readdirSync(path.join(base, 'state', 'sessions')).every((name) => !name.includes(sessionId)), 'the session is deleted');
  await until(() => emptyOrNone(path.join(base, 'state', 'removed')), 'nothing deleted stays');
  await c.close();
  return archive;
}

const emptyOrNone = (dir) => !fs.existsSync(dir) || fs.readdirSync(dir).length === 0;

async function othersOf(d, base) {
  const { json: info } = await d.http('/v1/info', { token: d.token });
  const tool = new McpHttp(d, '/mcp'), hosted = new McpHttp(d, '/mcp/fixture');

  assert.equal(info.sandboxId, 'sandbox-here');
  assert.match((await d.http('/ui/', { described: false })).body, /viewer/);
  assert.match(JSON.stringify((await (await tool.modern('tools/call', { name: 'readFile', arguments: { path: 'here.txt' } })).over()).answer), /of the root/);
  assert.ok((await (await hosted.modern('tools/list', {})).over()).answer.result.tools.length > 0);
  assert.match(said(await runAgui(d, input(`t-${d.run}`, [user('env COLOUR')]), { query: '?profile=red' })), /red/);
  assert.equal((await acpd(['sessions', '--run-dir', path.join(base, 'run-dir'), '--json'])).code, 0);
  await until(() => hooks.taken.length > 0, 'a webhook over the CA of --ca-file');
  hooks.taken.length = 0;
}

async function works(t, base, opts) {
  const d = await daemonAt(t, base, opts);
  const archive = await smoke(d, base);

  await d.restart();
  assert.ok((await d.http('/v1/archives', { token: d.token })).json.archives.some((a) => a.digest === archive), 'an upload is there after a restart');
  assert.deepEqual((await d.http('/ready', { token: d.token })).status, 200);
  await d.stop();
}

// A directory of the test, removed once its daemons (which are registered later) and its mounts are gone.
function place(t, name = '') {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? os.tmpdir(), 'acpd-paths-'));

  dirs.push(dir);
  fs.mkdirSync(path.join(dir, name), { recursive: true });
  fs.chmodSync(dir, 0o755);
  return path.join(dir, name);
}

const dirs = [], mounts = [];
after(() => {
  for (const at of mounts.reverse())
    spawnSync('umount', ['-l', at]);
  for (const dir of dirs)
    fs.rmSync(dir, { recursive: true, force: true });
});

// False: without the right to mount the test is skipped.
function mount(t, ...args) {
  if (spawnSync('mount', args).status !== 0) {
    t.skip('no right to mount');
    return false;
  }
  mounts.push(args.at(-1));
  return true;
}

test('every option of acpd serve that takes a path has a row here, and is a path of the table', async () => {
  assert.deepEqual((await pathOptions()).sort(), Object.keys(USES).sort());
});

test('--print-config shows every path absolute, from the command line and from the environment', async (t) => {
  const cwd = fs.realpathSync(place(t)), all = Object.keys(USES);
  const value = (name) => (USES[name].value ?? ((v) => v))(`./some/${name}`);
  const flags = await acpd(['serve', '--print-config', ...all.flatMap((name) => [`--${name}`, value(name)])], { cwd });
  const env = Object.fromEntries(all.map((name) => [`ACPD_${name.toUpperCase().replaceAll('-', '_')}`, value(name)]));
  const byEnv = await acpd(['serve', '--print-config'], { cwd, env });

  for (const name of all) {
    const line = `${name} = ${(USES[name].value ?? ((v) => v))(`${cwd}/./some/${name}`)}\n`;

    assert.ok(flags.stdout.includes(line), `--${name}: ${flags.stdout}`);
    assert.ok(byEnv.stdout.includes(line), `${name} of the environment`);
  }
});

describe('a daemon works with all its paths', () => {
  test('relative', async (t) => {
    const base = place(t);

    await works(t, base, { cwd: base, named: (at) => path.relative(base, at) });
  });
  test('relative and above', async (t) => {
    const base = place(t, 'a');

    fs.mkdirSync(path.join(base, '../b'));
    await works(t, base, { cwd: path.join(base, '../b'), named: (at) => path.join('../a', path.basename(at)) });
  });
  test('with spaces, quotes, dollars and letters of many scripts', async (t) => {
    await works(t, place(t, 'a b  \'c\' "d" $HOME %s \\ Grüße 世界 ü 🙂'));
  });
  test('beyond what a socket\'s address holds', async (t) => {
    await works(t, place(t, `${'d'.repeat(200)}/${'e'.repeat(200)}`));
  });
  test('behind symbolic links, of each and of their parent', async (t) => {
    const base = place(t, 'real'), links = path.join(base, '..', 'links');

    fs.mkdirSync(links);
    fs.symlinkSync('real', path.join(base, '../alias'));
    for (const option of Object.keys(USES)) {
      if (USES[option].dir)
        fs.mkdirSync(path.join(base, option));
      fs.symlinkSync(path.join(base, '../alias', option), path.join(links, option));
    }
    await works(t, base, { named: (at) => path.join(links, path.basename(at)) });
  });
  test('each directory a mount point', { skip: !isRoot && 'needs root, to mount' }, async (t) => {
    const base = place(t), own = Object.keys(USES).filter((o) => !USES[o].file).map((o) => path.join(base, o));

    for (const dir of own) {
      fs.mkdirSync(dir);
      if (!mount(t, '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', dir))
        return;
    }
    await works(t, base);
  });
  test('their parent read-only once they are there', { skip: !isRoot && 'needs root, to mount' }, async (t) => {
    const base = place(t), own = Object.keys(USES).filter((o) => USES[o].dir).map((o) => path.join(base, o));

    for (const dir of own)
      fs.mkdirSync(dir);
    if ([base, ...own].every((dir) => mount(t, '--bind', dir, dir)))
      await works(t, base, { ready: () => assert.equal(spawnSync('mount', ['-o', 'remount,bind,ro', base]).status, 0) });
  });
});

describe('a path is refused', () => {
  test('of 4,000 bytes, and as the empty one, with the option named', async () => {
    for (const option of await pathOptions()) {
      for (const [at, why] of [[`/tmp/${'x'.repeat(200)}/`.repeat(20), /too long/], ['', /empty|NAME=FILE/]]) {
        const { code, stderr } = await acpd(['serve', '--check', `--${option}=${(USES[option].value ?? ((v) => v))(at)}`]);

        assert.equal(code, 2, option);
        assert.match(stderr, new RegExp(`^acpd: --${option}: `));
        assert.match(stderr, why);
      }
    }
  });
  test('relative where the working directory is gone', async (t) => {
    const gone = place(t, 'gone');

    for (const option of await pathOptions()) {
      const { stdout, stderr, status } = spawnSync('sh', ['-c', `cd "$1" && rmdir "$1"; "$ACPD" serve --check --${option} "$2"; r=$?; mkdir "$1"; exit $r`, 'sh', gone,
        (USES[option].value ?? ((v) => v))('x')], { encoding: 'utf8' });

      assert.deepEqual([status, stdout], [2, ''], option);
      assert.match(stderr, new RegExp(`^acpd: --${option}: cannot make '.*x' absolute: `), option);
    }
  });
  test('of a directory to be made below a read-only parent', { skip: !isRoot && 'needs root, to mount' }, async (t) => {
    const base = place(t);

    if (!mount(t, '-t', 'tmpfs', '-o', 'ro', 'tmpfs', base))
      return;
    for (const option of Object.keys(USES).filter((o) => USES[o].dir)) {
      for (const args of [['serve', '--check'], ['serve', '--listen', '127.0.0.1:0']]) {
        const { code, stderr } = await acpd([...args, '--state', path.join(base, '../unused'), `--${option}`, path.join(base, 'new')]);

        assert.equal(code === 0, false, option);
        assert.match(stderr, new RegExp(`^acpd: --${option}: .*Read-only file system\n$`, 'm'), option);
      }
    }
  });
});

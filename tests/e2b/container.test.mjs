// SPDX-License-Identifier: Apache-2.0
// build: release
// images/Dockerfile: parsed as Docker parses it; and what it would start is started, with its settings, as the first process of a pid
// namespace. Nobody builds the image here.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DockerfileParser } from 'dockerfile-ast';
import { ACPD, ROOT } from '../lib/daemon.mjs';
import { pidNamespaces } from '../lib/namespaces.mjs';
import { list } from '../lib/procs.mjs';
import { deadline } from '../lib/rawws.mjs';
import { until } from '../lib/wait.mjs';
import { readUnit } from './unit-file.mjs';

const file = DockerfileParser.parse(fs.readFileSync(path.join(ROOT, 'images/Dockerfile'), 'utf8'));
const all = file.getInstructions();
const of = (keyword) => all.filter((i) => i.getKeyword() === keyword);
const text = (i) => i.getRawArgumentsContent().replace(/\\\n/g, ' ').replace(/\s+/g, ' ');
const json = (keyword) => {
  assert.equal(of(keyword).length, 1, keyword);
  return JSON.parse(text(of(keyword)[0])); // in shell form a shell would be the first process
};
const env = Object.fromEntries(of('ENV').flatMap((i) => i.getProperties().map((p) => [p.getName(), p.getValue()])));

describe('images/Dockerfile', () => {
  test('has two stages, on the release whose libraries install-deps.sh names', () => {
    assert.deepEqual(file.getFROMs().map((f) => f.getImage()), ['debian:trixie-slim', 'debian:trixie-slim']);
    const listed = (name) => spawnSync('sh', [path.join(ROOT, 'tests/install-deps.sh'), '--debian', '13', '--list', name], { encoding: 'utf8' }).stdout;

    assert.match(listed('runtime'), /libwebsockets19t64/);
    assert.match(text(of('RUN')[0]), /install-deps\.sh build$/);
    assert.ok(of('RUN').slice(2).every((i) => !text(i).includes('install-deps.sh build')), 'no compiler in what ships');
  });

  test('each RUN is a shell command, and each COPY of something that is there', () => {
    for (const run of of('RUN')) {
      const { status, stderr } = spawnSync('bash', ['-n', '-c', text(run)], { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    }
    for (const copy of of('COPY').filter((c) => !c.getFlags().length)) {
      const [, ...sources] = copy.getArguments().map((a) => a.getValue()).reverse();
      for (const source of sources)
        assert.ok(fs.existsSync(path.join(ROOT, source)), source);
    }
    assert.deepEqual(of('COPY').flatMap((c) => c.getFlags().map((f) => f.toString())), ['--from=build']);
  });

  test('copies all that make needs to build and install', () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-container-'));

    try {
      for (const copy of of('COPY')) {
        const args = copy.getArguments().map((a) => a.getValue());
        if (!args.at(-1).startsWith('/usr/src/acpd') || args.includes('images/setup.sh'))
          continue;
        for (const source of args.slice(0, -1))
          fs.cpSync(path.join(ROOT, source), path.join(dir, source), { recursive: true });
      }
      const { status, stderr } = spawnSync('make', ['-n', '-C', dir, 'install', 'DESTDIR=/image', 'PREFIX=/opt/acpd'], { encoding: 'utf8', timeout: 60_000 });
      assert.equal(status, 0, stderr);
    } finally {
      fs.rmSync(dir, { recursive: true });
    }
  });

  test('its settings are those of the unit, but for the token, of which only the place is named, and the least level', () => {
    const { Service } = readUnit(fs.readFileSync(path.join(ROOT, 'images/acpd.service'), 'utf8'));
    const unit = Object.fromEntries(Service.Environment.filter((v) => v.startsWith('ACPD_')).map((v) => v.split('=')));
    const { PATH, ACPD_TOKEN_FILE, ...settings } = env;
    const { ACPD_LEVEL_MIN, ...both } = unit;

    assert.deepEqual(settings, both);
    assert.equal(ACPD_LEVEL_MIN, 'guarded', 'a container may have no cgroups of its own, without which no session could be had');
    assert.ok(!PATH.includes('/usr/local'));
    assert.equal(ACPD_TOKEN_FILE, '/run/secrets/acpd-token');
    const [first, last] = settings.ACPD_AGENT_UIDS.split('-');
    assert.ok(of('RUN').some((i) => text(i).includes(`setup.sh ${first} ${last} `)));
  });

  test('the first process is the entrypoint, and the daemon its command', () => {
    assert.deepEqual([...json('ENTRYPOINT'), ...json('CMD')], ['acpd', 'entrypoint', '--', 'acpd', 'serve']);
    assert.deepEqual(of('USER'), []); // root, to give each session a user of its own
    assert.deepEqual(of('STOPSIGNAL'), []);
  });
});

describe('the token file of the docker run that is printed', process.getuid() === 0 ? {} : { skip: 'must be root, to mount' }, () => {
  const page = fs.readFileSync(path.join(ROOT, 'images/README.md'), 'utf8');
  const [, make, mount] = /```sh\n(.*openssl.*>token\))\ndocker run .*-v "\$PWD\/(token:\S+)" acpd\n```/.exec(page) ?? [];
  const ORDINARY = 12345;
  let dir;

  before(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-container-'));
    fs.chmodSync(dir, 0o777);
  });
  after(() => fs.rmSync(dir, { recursive: true, force: true }));

  // The page's commands by an ordinary user, and the image's daemon with its check: what it says, and its exit code.
  function checked({ owner = ORDINARY, mode, mountedAs = mount.split(':')[2], uids = '61001-61064' } = {}) {
    const own = fs.mkdtempSync(path.join(dir, 'one-'));

    fs.chownSync(own, owner, owner);
    const { status, stderr } = spawnSync('sh', ['-c', make], { cwd: own, uid: owner, gid: owner, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    if (mode)
      fs.chmodSync(path.join(own, 'token'), mode);
    return spawnSync('unshare', ['--mount', 'sh', '-ec', `mount --bind token token; mount -o remount,bind,${mountedAs} token; exec acpd serve --check`], {
      cwd: own, encoding: 'utf8', env: { ...env, PATH: `${path.dirname(ACPD)}:${env.PATH}`, ACPD_TOKEN_FILE: `${own}/token`, ACPD_LISTEN: '127.0.0.1:0',
        ACPD_STATE: `${own}/state`, ACPD_RUN_DIR: `${own}/run`, ACPD_WORKSPACES: `${own}/ws`, ACPD_AGENT_USER: 'nobody', ACPD_AGENT_UIDS: uids } });
  }

  test('is taken, and it is mounted where the image looks', () => {
    assert.equal(mount.split(':')[1], env.ACPD_TOKEN_FILE);
    const { status, stderr } = checked();

    assert.equal(status, 0, stderr);
  });

  const refused = [
    ['is refused if it can be written', { mountedAs: 'rw' }, /belongs to uid 12345.*mount it read-only/],
    ['is refused if others can read it', { mode: 0o644 }, /others can read it \(chmod 600\)/],
    ['is refused if it is the agent\'s', { owner: 65534 }, /belongs to uid 65534/],
    ['is refused if a session may have its uid', { uids: '12000-12999' }, /belongs to uid 12345/],
  ];
  for (const [name, how, why] of refused) {
    test(name, () => {
      const { status, stderr } = checked(how);

      assert.equal(status, 2, stderr);
      assert.match(stderr, why);
    });
  }
});

describe('what it starts', pidNamespaces ? {} : { skip: 'no pid namespace can be made here' }, () => {
  let dir, life, out = '', ended;
  // as the image has it, but for places and users that are not here
  const settings = () => ({ ...env, ACPD_LISTEN: '127.0.0.1:0', ACPD_STATE: path.join(dir, 'state'), ACPD_RUN_DIR: path.join(dir, 'run'),
    ACPD_WORKSPACES: path.join(dir, 'ws'), ACPD_AGENT_USER: 'nobody', PATH: `${path.dirname(ACPD)}:${env.PATH}` });
  const health = () => spawnSync('sh', ['-c', text(of('HEALTHCHECK')[0]).replace(/^.*CMD /, '')], { env: settings() }).status;

  before(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-container-'));
    life = spawn('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', ...json('ENTRYPOINT'), ...json('CMD')],
      { env: settings(), stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [life.stdout, life.stderr])
      stream.on('data', (data) => { out += data; });
    ended = new Promise((resolve) => life.on('close', resolve));
    await until(() => /^acpd listening/m.test(out) || life.exitCode !== null, 'the daemon to listen');
  });
  after(() => {
    life.kill('SIGKILL');
    fs.rmSync(dir, { recursive: true, force: true });
  });

  test('a daemon that waits to be claimed, and is healthy', async () => {
    const port = /^acpd listening on ws:\/\/127\.0\.0\.1:(\d+)/m.exec(out)?.[1];

    assert.ok(port, out);
    assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
    assert.equal((await fetch(`http://127.0.0.1:${port}/ready`)).status, 503);
    assert.equal(health(), 0);
  });

  test('it ends in order at the signal that containers are stopped with; then it is not healthy', async () => {
    process.kill(list().find((p) => p.ppid === life.pid).pid, 'SIGTERM');
    assert.equal(await deadline(ended, 10000, 'the end'), 0, out);
    assert.match(out, /"msg":"stopping"/);
    assert.notEqual(health(), 0);
  });
});

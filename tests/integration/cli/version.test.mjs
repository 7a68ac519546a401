// SPDX-License-Identifier: Apache-2.0
// The version of a build is that of its commit, and the same everywhere.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACPD, Daemon, ROOT } from '../../lib/daemon.mjs';

const SEMVER = /^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?(\+[0-9A-Za-z.]+)?$/;

test('the program, /v1/info, the handshake and /ready name one version', async () => {
  const version = execFileSync(ACPD, ['--version'], { encoding: 'utf8' }).trim().replace(/^acpd /, '');
  const d = await Daemon.start();

  try {
    const c = await d.client();
    const { agentInfo, agentCapabilities } = c.initializeResult;

    assert.match(version, SEMVER);
    assert.deepEqual([agentInfo.version, agentCapabilities._meta.acpd.version], [version, version]);
    for (const route of ['/v1/info', '/ready'])
      assert.equal((await d.http(route, { token: d.token })).json.version, version, route);
    await c.close();
  } finally {
    await d.stop();
  }
});

describe('version.sh', () => {
  let dir, hash;
  const git = (...args) => execFileSync('git', ['-C', dir, '-c', 'user.name=a', '-c', 'user.email=a@b.invalid', '-c', 'commit.gpgsign=false', ...args],
    { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: dir } }).trim();
  const write = (file, text) => fs.writeFileSync(path.join(dir, file), text);
  const version = (of = dir, env = {}) => execFileSync('sh', [path.join(of, 'daemon/version.sh'), '0.1.0'],
    { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: dir, ...env } }).trim();
  const copyTo = (to) => {
    fs.mkdirSync(path.join(to, 'daemon'), { recursive: true });
    fs.copyFileSync(path.join(ROOT, 'daemon/version.sh'), path.join(to, 'daemon/version.sh'));
  };

  before(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-version-'));
    copyTo(dir);
  });
  after(() => fs.rmSync(dir, { recursive: true, force: true }));

  test('a tree that is not a checkout has the plain one', () => assert.equal(version(), '0.1.0'));

  test('so has a checkout without a commit', () => {
    git('init', '-q');
    assert.equal(version(), '0.1.0');
  });

  test('a commit without a tag is on its way to the next version', () => {
    write('file', 'one');
    git('add', '.');
    git('commit', '-qm', 'one');
    hash = git('rev-parse', '--short=12', 'HEAD');
    assert.equal(version(), `0.1.0-dev+g${hash}`);
    assert.match(version(), SEMVER);
  });

  test('files that git does not know change nothing, and a changed one is named', () => {
    write('other', '');
    assert.equal(version(), `0.1.0-dev+g${hash}`);
    write('file', 'two');
    assert.equal(version(), `0.1.0-dev+g${hash}.dirty`);
    git('checkout', '-q', 'file');
  });

  test('without git it is the plain one', () => {
    const bin = path.join(dir, 'bin');

    fs.mkdirSync(bin);
    for (const name of ['sh', 'dirname'])
      fs.symlinkSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(), path.join(bin, name));
    assert.equal(version(dir, { PATH: bin }), '0.1.0');
  });

  test('a tag that is no version, or could not be one, is not taken', () => {
    git('tag', 'viewer-1');
    git('tag', 'v1";id;"');
    assert.equal(version(), `0.1.0-dev+g${hash}`);
  });

  test('the tag of the commit is the version', () => {
    git('tag', '-d', 'v1";id;"');
    git('tag', '-am', 'release', 'v1.2.3');
    assert.equal(version(), '1.2.3');
    write('file', 'two');
    assert.equal(version(), '1.2.3+dirty');
    git('commit', '-qam', 'two');
    assert.equal(version(), `0.1.0-dev+g${git('rev-parse', '--short=12', 'HEAD')}`, 'the next commit has no tag');
  });

  test('a copy within another checkout does not have its version', () => {
    const vendored = path.join(dir, 'vendored');

    git('tag', 'v9.9.9');
    copyTo(vendored);
    assert.equal(version(vendored), '0.1.0');
  });
});

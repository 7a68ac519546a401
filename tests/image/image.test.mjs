// SPDX-License-Identifier: Apache-2.0
// Second half of make image: what build.mjs has built from e2b.Dockerfile holds nothing that it should not, and boots (checks.mjs). Root only.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { enterNear } from '../lib/far-side.mjs';
import { checkBooted } from './checks.mjs';
import { noGuest } from './guest.mjs';
import { WORK } from './places.mjs';

const BUILT = path.join(WORK, 'built');

const inside = (command) => spawnSync('sh', ['-c', command], { cwd: BUILT, encoding: 'utf8' }).stdout.trim();
const certificates = (file) => fs.readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g).map((pem) => new X509Certificate(pem));

function noLeftovers() {
  test('no compiler, nothing to build with, and not npm', () => {
    assert.equal(inside('ls -d usr/bin/*gcc* usr/bin/cc usr/bin/c++ usr/bin/ld usr/bin/as usr/bin/make usr/bin/npm usr/bin/node usr/bin/pkg-config ' +
      'usr/lib/gcc usr/include/* 2>/dev/null'), '');
  });

  test('no cache, no list of packages, no sources, nothing in /tmp', () => {
    assert.equal(inside('find tmp var/tmp mnt media usr/src var/lib/apt/lists var/cache/apt root/.npm root/.cache home/agent/.npm ' +
      'opt/fetch -type f ! -name lock 2>/dev/null'), '');
    assert.equal(inside('ls -A opt'), 'acpd');
  });

  test('no secret: no setting, no key, no certificate but Debian\'s', () => {
    assert.equal(inside('ls -A etc/acpd srv/workspaces var/lib/acpd 2>/dev/null | grep -v :'), '');
    assert.equal(inside('grep -rlE "BEGIN [A-Z ]*PRIVATE KEY" etc root home opt/acpd/bin opt/acpd/lib'), '');
    const debians = inside('find usr/share/ca-certificates -name "*.crt"').split('\n').flatMap((name) => certificates(path.join(BUILT, name)));
    const known = new Set(debians.map((c) => c.fingerprint256));

    assert.ok(known.size > 50);
    assert.deepEqual(certificates(path.join(BUILT, 'etc/ssl/certs/ca-certificates.crt')).filter((c) => !known.has(c.fingerprint256)).map((c) => c.subject), []);
  });

  test('what acpd links is there', () => {
    for (const name of ['acpd', 'acpd-unpack', 'acpd-fetch', 'acpd-proxy'])
      assert.doesNotMatch(inside(`chroot . ldd /opt/acpd/bin/${name}`) || 'not found', /not found/, name);
  });
}

if (noGuest) {
  test('the image of e2b.Dockerfile', { skip: noGuest }, () => {});
} else if (enterNear(import.meta.filename)) {
  describe('as it was built', noLeftovers);
  describe('booted', () => checkBooted(async () => path.join(WORK, 'provisioned')));
}

// SPDX-License-Identifier: Apache-2.0
// e2b.Dockerfile installed and booted: its steps in a Debian 13 root (steps.mjs), systemd as the first process, and what checks.mjs holds it
// against. Root only; root.mjs makes the root, and build/image/boot, a layer over it, goes with the test.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { enterNear } from '../lib/far-side.mjs';
import { checkBooted } from './checks.mjs';
import { readDockerfile } from './dockerfile.mjs';
import { noGuest } from './guest.mjs';
import { DOCKERFILE, ROOT, WORK } from './places.mjs';
import { runSteps } from './steps.mjs';

const DIR = path.join(WORK, 'boot');

function layer() {
  const root = path.join(DIR, 'root');

  fs.rmSync(DIR, { recursive: true, force: true });
  for (const name of ['root', 'upper', 'work'])
    fs.mkdirSync(path.join(DIR, name), { recursive: true });
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=${ROOT},upperdir=${DIR}/upper,workdir=${DIR}/work`, root]);
  return root;
}

const NAME = 'e2b.Dockerfile in a Debian 13 root, booted';

if (noGuest) {
  test(NAME, { skip: noGuest }, () => {});
} else if (enterNear(import.meta.filename)) {
  describe(NAME, () => {
    checkBooted(async () => {
      const root = layer();

      runSteps(root, readDockerfile(fs.readFileSync(DOCKERFILE, 'utf8')), path.join(DIR, 'stand-ins'));
      assert.equal(fs.existsSync(path.join(root, 'usr/src/acpd')), false);
      return root;
    });
    after(() => {
      spawnSync('umount', ['--lazy', path.join(DIR, 'root')]);
      fs.rmSync(DIR, { recursive: true, force: true });
    });
  });
}

// SPDX-License-Identifier: Apache-2.0
// root.mjs - the Debian 13 root of make boot, in build/image/root, made by mmdebstrap once for each list of packages: those that the steps of
// e2b.Dockerfile ask for, and those that E2B adds. Where nothing can be booted there is none, and the tests are skipped.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { readDockerfile } from './dockerfile.mjs';
import { noGuest } from './guest.mjs';
import { PACKAGES } from './platform.mjs';
import { DOCKERFILE, ROOT, TOP, WORK } from './places.mjs';

const MADE_OF = path.join(WORK, 'root-made-of');

// npm only fetches, which nothing does here.
function packages() {
  const steps = readDockerfile(fs.readFileSync(DOCKERFILE, 'utf8'));
  const named = steps.flatMap(({ command }) => /apt-get install [^;]*/.exec(command)?.[0].split(' ').slice(2).filter((word) => !word.startsWith('-')) ?? []);
  const listed = execFileSync('sh', ['tests/install-deps.sh', '--debian', '13', '--list', 'build', 'runtime'], { cwd: TOP, encoding: 'utf8' });

  return [...new Set([...PACKAGES, ...named.filter((name) => name !== 'npm'), ...listed.trim().split(' ')])].join(',');
}

function make(list) {
  const tar = path.join(WORK, 'root.tar');

  console.log('making a Debian 13 root in build/image');
  for (const old of [ROOT, MADE_OF])
    fs.rmSync(old, { recursive: true, force: true });
  fs.mkdirSync(ROOT, { recursive: true });
  execFileSync('mmdebstrap', ['--quiet', '--mode=root', '--variant=minbase', `--include=${list}`, 'trixie', tar], { stdio: 'inherit' });
  execFileSync('tar', ['-C', ROOT, '-xf', tar, '--exclude=./dev/*']);
  fs.rmSync(tar);
  fs.writeFileSync(MADE_OF, list);
}

const madeOf = () => fs.existsSync(MADE_OF) && fs.readFileSync(MADE_OF, 'utf8');

if (!noGuest && madeOf() !== packages())
  make(packages());

// SPDX-License-Identifier: Apache-2.0
// The steps of e2b.Dockerfile in a Debian 13 root of this tree, without a network: what they do to files and users is done by their own
// commands. Three programs have stand-ins, because what they would bring is there: apt-get (the packages of the root, each of which has to
// be there), npm (packages of tests/node_modules, where they have the version asked for; for the viewer those by which make ui has built it
// here) and sha512sum (the hash has to be that of tests/package-lock.json, by which npm has checked the package).

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { runInRoot } from './guest.mjs';
import { TOP } from './places.mjs';

const VIEWERS = path.join(TOP, 'images/ui/node_modules');
const MODULES = fs.realpathSync(path.join(TOP, 'tests/node_modules'));

const STAND_INS = {
  'apt-get': `case $1 in install)
	shift
	for name; do
		case $name in
		-* | npm) ;;
		*) dpkg-query -s "$name" >/dev/null || { echo "the root has no $name" >&2; exit 1; } ;;
		esac
	done ;;
esac
`,
  // pins: "name@version hash folder" lines
  npm: `[ "$1" != ci ] || exec cp -r /mnt/ui node_modules
[ "$1 $2" = "pack --silent" ] || exit 2
folder=$(awk -v name="$3" '$1 == name { print $3 }' /mnt/pins)
[ -n "$folder" ] || { echo "tests/package-lock.json has no $3" >&2; exit 1; }
file=$(echo "$3" | tr -d @ | tr / -).tgz
tar -cf "$file" -C "/media/$folder" --transform 's,^[.],package,' .
grep "^$3 " /mnt/pins | sed "s,$, $file," >>/opt/fetch/packed
echo "$file"
`,
  sha512sum: `read -r hash file
grep -q " $hash .* $file\\$" /opt/fetch/packed || { echo "$file: not the hash of tests/package-lock.json" >&2; exit 1; }
`,
};

function pins() {
  const { packages } = JSON.parse(fs.readFileSync(path.join(TOP, 'tests/package-lock.json'), 'utf8'));

  return Object.entries(packages).filter(([at, p]) => /^node_modules[/](@[^/]*[/])?[^/]*$/.test(at) && p.integrity)
    .map(([at, p]) => `${p.name ?? at.slice(13)}@${p.version} ${Buffer.from(p.integrity.slice(7), 'base64').toString('hex')} ${at.slice(13)}\n`).join('');
}

function standIns(dir) {
  fs.mkdirSync(path.join(dir, 'sbin'), { recursive: true });
  fs.mkdirSync(path.join(dir, 'mnt/ui'), { recursive: true });
  for (const [name, text] of Object.entries(STAND_INS))
    fs.writeFileSync(path.join(dir, 'sbin', name), `#!/bin/sh\n${text}`, { mode: 0o755 });
  fs.writeFileSync(path.join(dir, 'mnt/pins'), pins());
  // /usr/local/sbin comes first in the PATH of a login shell of root
  return { '/usr/local/sbin': path.join(dir, 'sbin'), '/mnt': path.join(dir, 'mnt'), '/media': MODULES, '/mnt/ui': VIEWERS };
}

const perform = {
  FROM() {},
  ARG(root, { name, value }, x) { x.env[name] = value; },
  COPY(root, { from, to }) {
    fs.mkdirSync(path.join(root, path.dirname(to)), { recursive: true });
    execFileSync('cp', ['-aT', path.join(TOP, from), path.join(root, to)]);
  },
  RUN(root, { command }, x) {
    const { status, stdout, stderr } = runInRoot(root, command, x);

    assert.equal(status, 0, `${command.slice(0, 200)}\n${stdout.slice(-1000)}${stderr.slice(-2000)}`);
  },
};

// dir: for the stand-ins.
export function runSteps(root, steps, dir) {
  const x = { env: {}, binds: standIns(dir) };

  for (const step of steps)
    perform[step.word](root, step, x);
}

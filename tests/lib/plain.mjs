// SPDX-License-Identifier: Apache-2.0
// A daemon as a user without privileges starts it.

import fs from 'node:fs';
import path from 'node:path';
import { Daemon } from './daemon.mjs';

// A daemon without privileges (so that no cgroup can be made): its own uid if we are root. through: a program that root starts and that
// becomes nobody.
export async function startPlain({ through, ...opts } = {}) {
  if (process.getuid() !== 0)
    return Daemon.start(opts);
  const nobody = 65534;
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-plain-'));

  for (const name of ['token', 'harnesses.json']) {
    fs.writeFileSync(path.join(dir, name), '', { mode: 0o600 });
    fs.chownSync(path.join(dir, name), nobody, nobody);
  }
  fs.chownSync(dir, nobody, nobody);
  try {
    const as = through ? { program: through } : { uid: nobody, gid: nobody };
    const d = await Daemon.start({ ...opts, ...as, dir });

    d.temporary = dir;
    return d;
  } catch (e) {
    fs.rmSync(dir, { recursive: true, force: true });
    throw e;
  }
}

export function dropPlain(daemon) {
  if (daemon.temporary && !process.env.ACPD_TEST_KEEP)
    fs.rmSync(daemon.temporary, { recursive: true, force: true });
}

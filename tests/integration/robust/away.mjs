// SPDX-License-Identifier: Apache-2.0
// Machines that were away: what E2B does after a restore, done to a daemon of a test. The wall clock that jumps is the daemon's own
// (tests/clock/clockstep.c), never the machine's.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Daemon, STUB } from '../../lib/daemon.mjs';
import { until } from '../../lib/wait.mjs';
import { acpd } from '../run.mjs';

const SHIM = path.join(path.dirname(STUB), 'clockstep.so');

// A clock in that folder: what a daemon needs in its environment, step(ms), which sets it so much ahead of the machine's, and stick(), after
// which no timer of the loop fires.
// tells: the kernel tells when it is set.
function clockIn(dir, tells) {
  const clock = path.join(dir, 'clock'), fifo = path.join(dir, 'set'), stuck = path.join(dir, 'stuck');
  const bytes = (ms) => {
    const b = Buffer.alloc(8);

    b.writeBigInt64LE(BigInt(ms));
    return b;
  };
  const poke = (file, flags, data) => {
    const fd = fs.openSync(file, flags);

    fs.writeSync(fd, data);
    fs.closeSync(fd);
  };

  fs.writeFileSync(clock, bytes(0));
  execFileSync('mkfifo', [fifo]);
  return {
    env: { LD_PRELOAD: SHIM, ACPD_TEST_CLOCK: clock, ACPD_TEST_CLOCK_STUCK: stuck, ...(tells && { ACPD_TEST_CLOCK_SET: fifo }) },
    step(ms) {
      poke(clock, 'r+', bytes(ms));
      if (tells)
        poke(fifo, fs.constants.O_RDWR | fs.constants.O_NONBLOCK, '.');
    },
    stick: () => fs.writeFileSync(stuck, ''),
  };
}

// A daemon in a sandbox of that id (null: there is no file yet); d.become(id) is what E2B does after a restore. opts: those of Daemon,
// and clock: 'told' or 'untold', for d.step() and d.stick().
export async function sandboxed(t, id, { clock, ...opts } = {}) {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-id-'));
  const file = path.join(dir, 'run', 'ID');
  const own = clock ? clockIn(dir, clock === 'told') : {};

  t.after(() => fs.rmSync(dir, { recursive: true }));
  if (id) {
    fs.mkdirSync(path.dirname(file));
    fs.writeFileSync(file, id);
  }
  const env = { E2B_SANDBOX_ID: 'of-the-build', ...own.env, ...opts.env };
  const d = await Daemon.startFor(t, { ...opts, env, flags: { sandboxIdFile: file, ...opts.flags } });

  return Object.assign(d, {
    idFile: file,
    step: own.step,
    stick: own.stick,
    become(to) {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(`${file}.new`, to);
      fs.renameSync(`${file}.new`, file);
    },
  });
}

// Resolves to the answer, or to undefined if the daemon has reset the connection: it does so while it resumes.
export const unlessReset = (answer) => answer.catch((e) => { assert.match(e.message, /ECONNRESET|hang up/); });

// Its n-th restore is over.
export async function resumed(d, n = 1) {
  await until(() => d.logs.filter((l) => l.mod === 'restore' && /^resumed/.test(l.msg)).length >= n, 'it has noticed');
  // it says so first, and answers when all is done; until then it resets connections
  await until(() => unlessReset(d.http('/health')), 'it answers');
}

// The copy is claimed: its token.
export async function claimed(d) {
  const token = `token-${crypto.randomBytes(12).toString('hex')}`;

  assert.equal((await acpd(['claim', '--run-dir', d.runDir], { input: token })).code, 0);
  return token;
}

// SPDX-License-Identifier: Apache-2.0
// What is delivered while the first baseline of a workspace is being walked is no change of the agent's. The walk is stopped in a directory that
// comes last; then another client delivers into one that the walk has left.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd, upload } from '../../lib/workspace.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const LAST = 100, MIB = 1 << 20;

// A directory of which the walk sees "aa" first and reads "zz" for long.
function makeTree(cwd) {
  for (const dir of ['aa', 'zz'])
    fs.mkdirSync(`${cwd}/${dir}`);
  fs.writeFileSync(`${cwd}/aa/kept.txt`, 'kept\n');
  fs.writeFileSync(`${cwd}/aa/old.txt`, 'old\n');
  for (let i = 0; i < LAST; i++)
    fs.writeFileSync(`${cwd}/zz/${i}`, crypto.randomBytes(MIB));
}

const snapshots = () => d.descendants().filter((p) => procs.cmdline(p.pid).includes('\0snapshot\0'));
const isIn = (pid, dir) => procs.descriptors(pid).some((to) => to === dir);

// A new session whose walk stands still in "zz", and a way to let it go on.
async function walking() {
  for (;;) {
    const cwd = newCwd(d);
    makeTree(cwd);
    const from = d.logs.length;
    const opened = c.newSession({ cwd, meta: { workspace: { baseline: true } } });
    let stopped = [];

    await until(() => {
      stopped = snapshots();
      return stopped.some((p) => isIn(p.pid, `${cwd}/zz`)) || stopped.over;
    }, 'the walk of zz');
    stopped.forEach((p) => procs.signal(p.pid, 'SIGSTOP'));
    if (stopped.some((p) => isIn(p.pid, `${cwd}/zz`))) {
      const created = await d.waitLog((l) => l.msg === 'session created' && l.cwd === cwd);
      return { cwd, opened, from, sessionId: created.session, goOn: () => stopped.forEach((p) => procs.signal(p.pid, 'SIGCONT')) };
    }
    stopped.forEach((p) => procs.signal(p.pid, 'SIGCONT')); // it was too fast
    await c.call('session/delete', { sessionId: (await opened).sessionId });
  }
}

const changed = async (client, sessionId) => [...(await client.call('_acpd/workspace/diff', { sessionId })).patch.matchAll(/^diff --git a\/(\S+) /gm)].map((m) => m[1]);

for (const [what, mode, tree] of [['added', 'merge', { 'aa/new.txt': 'new\n', 'aa/kept.txt': 'changed\n', 'more.txt': 'x\n' }], ['in the place of all others', 'replace', { 'aa/new.txt': 'new\n' }]])
  test(`files that were delivered in the walk, ${what}, are not the agent's`, async () => {
    const { cwd, opened, sessionId, goOn } = await walking();
    const other = await d.client();
    const loaded = other.load(sessionId, { cwd, meta: { workspace: { archive: await upload(d, tree), mode } } });

    await d.waitLog((l) => l.msg === 'workspace written' && l.session === sessionId);
    goOn();
    await Promise.all([opened, loaded]);
    assert.deepEqual(await changed(other, sessionId), []);
    fs.writeFileSync(`${cwd}/aa/mine.txt`, 'mine\n');
    fs.writeFileSync(`${cwd}/aa/new.txt`, 'mine\n');
    assert.deepEqual(await changed(other, sessionId), ['aa/mine.txt', 'aa/new.txt']);
    await other.call('session/delete', { sessionId });
    await other.close();
  });

// The helper refuses the first walk as one of too many files, once the file "refuse" is there.
function refusing(dir) {
  const file = path.join(dir, 'acpd-unpack'), real = path.join(path.dirname(ACPD), 'acpd-unpack');

  fs.writeFileSync(file, `#!/bin/sh
if [ "$1" = snapshot ]; then
  read -r job
  case $job in *'"ignore":"none"'*)
    until [ -e ${dir}/refuse ]; do /bin/sleep 0.02; done
    echo '{"refused":{"reason":"TOO_MANY_ENTRIES","message":"entries in the tree"}}'
    exit 3 ;;
  esac
  printf '%s\\n' "$job" | '${real}' "$@"
  exit
fi
exec '${real}' "$@"
`, { mode: 0o755 });
  return file;
}

test('a second walk waits for the end of a delivery that the first one saw the beginning of', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-walk-'));
  const own = await Daemon.start({ env: { ACPD_UNPACK: refusing(dir) } });
  const running = (verb) => own.descendants().filter((p) => procs.cmdline(p.pid).includes(`\0${verb}\0`));

  try {
    const client = await own.client(), other = await own.client(), cwd = newCwd(own);
    fs.mkdirSync(`${cwd}/d`); // what is there already gets its files one by one
    const opened = client.newSession({ cwd, meta: { workspace: { baseline: true } } });
    const { session: sessionId } = await own.waitLog((l) => l.msg === 'session created' && l.cwd === cwd);
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`d/${i}`, 'x']));
    const loaded = other.load(sessionId, { cwd, meta: { workspace: { archive: await upload(own, many), mode: 'merge' } } });
    const list = path.join(own.stateDir, 'snapshots', sessionId, 'delivered');

    await until(() => fs.existsSync(list), 'the list of what is delivered');
    const writers = running('extract');
    writers.forEach((p) => procs.signal(p.pid, 'SIGSTOP'));
    fs.writeFileSync(`${dir}/refuse`, '');
    await until(() => !running('snapshot').some((p) => procs.cmdline(p.pid).startsWith('/bin/sh')), 'the end of the first walk');
    await own.http('/v1/info', { token: own.token }); // the daemon has seen it
    writers.forEach((p) => procs.signal(p.pid, 'SIGCONT'));
    await Promise.all([opened, loaded]);
    assert.deepEqual(await changed(other, sessionId), []);
    assert.equal(fs.existsSync(list), false);
    fs.writeFileSync(`${cwd}/d/7`, 'mine');
    assert.deepEqual(await changed(other, sessionId), ['d/7']);
    await other.close();
    await client.close();
  } finally {
    await own.stop();
    fs.rmSync(dir, { recursive: true });
  }
});

// SPDX-License-Identifier: Apache-2.0
// Two sessions with uids of their own: what one's shell tool can do to the other is nothing. Each act is first done by the session whose
// things they are, so that it is known to work. Root only.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../../../lib/agent-shell.mjs';
import { endInOrder } from '../../../lib/daemon.mjs';
import { connectTaker, listenerOf, STUB_WITH_PROVIDER } from '../../../lib/model-calls.mjs';
import * as procs from '../../../lib/procs.mjs';
import { startWithUids, tell, uidOf } from '../../../lib/users.mjs';
import { isRoot } from '../../../lib/workspace.mjs';
import { homeOf } from '../../ledger.mjs';

const skip = !isRoot && 'needs root';
const SECRET = 'wall-secret-4f1d';
let d, taker, mine, other, it;

// Commands that end with 0 if the act went well. The session's own "sleep" stands for any process of it.
const acts = {
  'read its environment': () => `grep -qa WALL_MARK /proc/${it.sleeper}/environ`,
  'read its memory': () => `perl -e 'open(F, "<", "/proc/${it.sleeper}/mem") or exit 1; open(M, "<", "/proc/${it.sleeper}/maps") or exit 2; $_ = <M>; /^([0-9a-f]+)/; sysseek(F, hex($1), 0); sysread(F, $b, 4) == 4 or exit 3'`,
  'see its open files': () => `ls /proc/${it.sleeper}/fd/1 && ls -l /proc/${it.sleeper}/cwd/ && ls /proc/${it.sleeper}/root/`,
  'list its home': () => `ls ${it.home}/`,
  'read a file of its home': () => `cat ${it.home}/private`,
  'make a file in its home': () => `touch ${it.home}/made`,
  'list its TMPDIR': () => `ls ${it.home}/tmp/`,
  'write in its working directory': () => `touch ${it.cwd}/made`,
  'remove a temporary file of it': () => `test -e /tmp/${it.temp} && rm -f /tmp/${it.temp} && test ! -e /tmp/${it.temp} && touch /tmp/${it.temp}`,
  'read shared memory of it': () => `cat /dev/shm/${it.temp}`,
  'connect to its MCP socket': () => `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "${it.mcp}") or exit 1'`,
  'find whether it can be signalled': () => `kill -0 ${it.sleeper}`,
  'stop it': () => `kill -STOP ${it.sleeper} && kill -CONT ${it.sleeper}`,
  'change its priority': () => `renice -n 5 -p ${it.sleeper}`,
  'change its limits': () => `prlimit --pid ${it.sleeper} --core=0`,
};

describe('the wall between two sessions', { skip }, () => {
  before(async () => {
    d = await startWithUids({ harnesses: [STUB_WITH_PROVIDER] });
    taker = await connectTaker(d);
    [mine, other] = [await open(), await open()];
    const id = mine.sessionId;
    it = { uid: uidOf(mine), home: homeOf(d, id), cwd: mine._meta.acpd.cwd, temp: `acpd-wall-${uidOf(mine)}` };
    it.sleeper = Number(await tell(taker.c, id, 'WALL_MARK=1 sleep 300 >/dev/null 2>&1 & echo $!'));
    await tell(taker.c, id, `echo ${SECRET} >$HOME/private; umask 077; echo ${SECRET} >/dev/shm/${it.temp}; touch /tmp/${it.temp}`);
    it.mcp = path.join(d.runDir, 'mcp', id, 'sock');
    assert.notEqual(uidOf(mine), uidOf(other));
  });
  after(() => endInOrder(d, taker?.c));

  const open = () => taker.newSession({}, {}, { workspace: { ephemeral: true }, mcp: { builtin: true } });

  for (const [what, act] of Object.entries(acts)) {
    test(`nobody else can ${what}`, async () => {
      const own = await runCommand(taker.c, mine.sessionId, act()), theirs = await runCommand(taker.c, other.sessionId, act());

      assert.equal(own.code, 0, `its own cannot: ${own.text}`);
      assert.notEqual(theirs.code, 0, theirs.text);
      assert.doesNotMatch(theirs.text, new RegExp(SECRET));
    });
  }

  test('nobody else reaches its model listener, although he has the key', async () => {
    const { url, key } = listenerOf(mine.sessionId);
    const call = `curl -s -o /dev/null -w %{http_code} -H "Authorization: Bearer ${key}" ${url}/models`;

    assert.equal(await tell(taker.c, other.sessionId, call), '401');
    const own = tell(taker.c, mine.sessionId, call);
    taker.answer((await taker.asked()).callId);
    assert.equal(await own, '200');
  });

  test('what both have written is still there, and the process of the one lives', () => {
    assert.deepEqual(fs.readdirSync(it.cwd), ['made']);
    assert.equal(fs.readFileSync(path.join(it.home, 'private'), 'utf8'), `${SECRET}\n`);
    assert.equal(procs.stat(it.sleeper)?.state, 'S');
  });
});

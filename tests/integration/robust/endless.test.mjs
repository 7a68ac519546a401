// SPDX-License-Identifier: Apache-2.0
// Sparse and endless: what costs an agent nothing and looks a million times larger, at each place that walks, hashes, compares, snapshots,
// exports or reads it. Every place answers, names what it left out, and can be cancelled; what works for a session is in its group.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { diff, run } from '../../lib/drafts.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';
import { isRoot, newCwd, upload } from '../../lib/workspace.mjs';

const LONG = { timeout: 120_000 };
const NAMES = 1024; // of one file

// command: how an agent makes it; before: it is there before the session, without a draft (as a change it would take long to show). named: what must be named where it is left out, with the reason.
const OBJECTS = {
  'a hole of 1 TiB': { command: 'truncate -s 1T huge', named: { huge: 'TOO_LARGE' } },
  'a hole of 1 TiB between two words': { command: 'truncate -s 1T huge; printf x >> huge; printf y | dd of=huge conv=notrunc 2>/dev/null', named: { huge: 'TOO_LARGE' } },
  'a hole of 15 MiB with thousands of names': {
    command: `mkdir -p n/0; truncate -s 15M n/0/hole; d=1; while [ $d -lt ${NAMES} ]; do cp -al n m; mv m n/$d; d=$((d * 2)); done`, named: { 'n/': 'TOO_LARGE' },
    before: true, places: ['a baseline of another session', 'a draft over it'],
  },
  'a directory of 100 000 entries': { command: 'mkdir wide && cd wide && seq -f e%06.0f 100000 | xargs touch', before: true },
  'directories 1 500 deep': { command: `mkdir -p "$(printf 'd/%.0s' $(seq 1500))"` },
  'a FIFO, and links to what never ends': { command: 'mkfifo pipe; ln -s /dev/zero zero; ln -s /proc/self/fd fds; ln -s . self', named: { pipe: 'FIFO' } },
};

const left = (list) => list.map((o) => `${o.path} ${o.reason}`);

// What is left out is named; the first thousand at least.
function assertNamed(object, list, total) {
  for (const [name, reason] of Object.entries(object.named ?? {}))
    assert.ok(list.some((o) => o.path.startsWith(name) && o.reason === reason), JSON.stringify(left(list).slice(0, 5)));
  assert.ok(total >= list.length);
}

async function start(t, meta, command = 'true') {
  const d = await Daemon.start();

  t.after(() => endInOrder(d));
  const c = await d.client(), cwd = newCwd(d);

  fs.writeFileSync(path.join(cwd, 'small.txt'), 'small\n');
  execFileSync('sh', ['-c', command], { cwd });
  return { d, c, cwd, id: (await c.newSession({ cwd, meta })).sessionId };
}

// The entries of an archive that is made while it is read; the connection is closed at the end of what a test wants of it.
async function exported({ d, id }, query, most) {
  const end = new AbortController();
  const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/${id}/workspace?${query}`, { headers: { Authorization: `Bearer ${d.token}` }, signal: end.signal });
  let bytes = 0;

  for await (const piece of res.body) {
    bytes += piece.length;
    if (bytes > most)
      break;
  }
  end.abort();
  return { status: res.status, bytes };
}

const tool = async ({ d, id }, name, args) => (await (await new McpHttp(d, `/mcp?session=${id}`).modern('tools/call', { name, arguments: args })).over()).answer.result;

const PLACES = {
  'a snapshot and its diff': async (s, object) => {
    const shown = await s.c.call('_acpd/workspace/diff', { sessionId: s.id }, LONG);

    assertNamed(object, shown.omitted, shown.omittedTotal);
    assert.match(shown.patch ?? '', /^$|small|e0|d\/|zero/);
  },
  'the diff since a turn': async (s) => {
    assert.equal((await s.c.call('_acpd/workspace/diff', { sessionId: s.id, since: 1 }, LONG)).files, 0);
  },
  'an archive': async (s) => {
    for (const format of ['tar', 'tar.gz', 'tar.zst', 'zip']) {
      const { status, bytes } = await exported(s, `format=${format}`, 1 << 29);

      assert.equal(status, 200);
      assert.ok(bytes > 0);
    }
  },
  'a bundle': async ({ d, id }) => {
    assert.equal((await d.http(`/v1/sessions/${id}/bundle`, { token: d.token })).status, 200);
  },
  'a delivery onto it': async (s) => {
    const archive = await upload(s.d, { 'delivered.txt': 'd', huge: 'h' });
    const { workspace } = await s.c.call('_acpd/workspace/materialize', { sessionId: s.id, workspace: { archive } }, LONG);

    assert.ok(workspace.written >= 1);
  },
  'a baseline of another session': async (s) => {
    const { sessionId } = await s.c.newSession({ cwd: s.cwd, meta: { workspace: { baseline: true } } });

    assert.equal((await s.c.call('_acpd/workspace/diff', { sessionId }, LONG)).files, 0);
    await s.c.call('session/delete', { sessionId });
  },
  'a draft over it': async (s) => {
    const { sessionId } = await s.c.newSession({ cwd: s.cwd, meta: { draft: true } });

    assert.equal((await s.c.call('_acpd/workspace/diff', { sessionId }, LONG)).changesTotal, 0);
    await s.c.call('session/delete', { sessionId });
  },
  'the tools': async (s) => {
    for (const [name, args] of [['listFiles', { path: s.cwd, recursive: true }], ['grep', { path: s.cwd, pattern: 'small' }], ['getFileInfo', { path: s.cwd }],
      ['readFiles', { paths: ['huge', 'pipe', 'zero', 'small.txt'].map((name) => path.join(s.cwd, name)) }], ...['huge', 'pipe', 'zero', 'n/0/hole'].flatMap((file) => [['readFile', { path: path.join(s.cwd, file) }],
        ['getFileInfo', { path: path.join(s.cwd, file) }], ['grep', { path: path.join(s.cwd, file), pattern: 'x' }]])])
      assert.ok((await tool(s, name, args)).content, name);
    assert.match(JSON.stringify(await tool(s, 'grep', { path: s.cwd, pattern: 'small' })), /small\.txt/);
  },
  'its removal': async (s) => {
    await s.c.call('session/delete', { sessionId: s.id });
  },
};

describe('sparse and endless', { skip: !isRoot && 'needs an overlay' }, () => {
  for (const [what, object] of Object.entries(OBJECTS)) {
    test(`${what}, in a workspace`, async (t) => {
      const s = await start(t, { workspace: { baseline: true } }, object.before && object.command);

      await run(s.c, s.id, object.before ? 'true' : object.command);
      for (const place of object.places ?? Object.keys(PLACES))
        await t.test(place, () => PLACES[place](s, object));
    });

    test(`${what}, in a draft`, { skip: object.before && 'made before the session, so a draft would not show it' }, async (t) => {
      const s = await start(t, { draft: true });

      await run(s.c, s.id, object.command);
      await run(s.c, s.id, 'printf more >> small.txt');
      const shown = await s.c.call('_acpd/workspace/diff', { sessionId: s.id }, LONG);

      assertNamed(object, shown.omitted, shown.omittedTotal);
      assert.match(shown.patch ?? 'small.txt', /small\.txt/);
      const { applied } = await s.c.call('_acpd/workspace/apply', { sessionId: s.id, patchDigest: shown.patchDigest }, LONG);

      assert.equal(applied, shown.changesTotal);
      assert.equal(fs.readFileSync(path.join(s.cwd, 'small.txt'), 'utf8'), 'small\nmore');
      assert.ok(!fs.existsSync(path.join(s.cwd, 'huge')));
    });
  }

  test('a hole is applied as a hole', async (t) => {
    const { c, cwd, id } = await start(t, { draft: true });

    await run(c, id, 'truncate -s 256M hole && printf end >> hole');
    const { patchDigest } = await diff(c, id);

    await c.call('_acpd/workspace/apply', { sessionId: id, patchDigest }, LONG);
    const { size, blocks } = fs.statSync(path.join(cwd, 'hole'));

    assert.equal(size, (256 << 20) + 3);
    assert.ok(blocks * 512 < 1 << 20, `${blocks} blocks`);
  });

  test('what an archive lacks is named once', async (t) => {
    const s = await start(t);

    fs.truncateSync(path.join(s.cwd, 'small.txt'), 2 ** 40);
    for (let i = 0; i < 2; i++)
      assert.ok((await exported(s, 'format=tar', 1 << 20)).bytes < 1 << 20);
    const told = await s.c.waitFor((m) => m.params?.event?.event === 'export_incomplete');

    assert.deepEqual(told.params.event.omitted, [{ path: 'small.txt', reason: 'TOO_LARGE' }]);
    assert.equal(s.c.messages.filter((m) => m.params?.event?.event === 'export_incomplete').length, 1);
  });
});

// acpd-unpack at work for a session: its processes stand still, so that it cannot end by itself.
async function held(d, ask) {
  for (;;) {
    const { id, answer } = ask();
    let over = false;

    answer.then(() => { over = true; });
    const found = () => d.descendants().filter((p) => procs.cmdline(p.pid).includes('draft-diff'));

    await until(() => over || found().length === 2, 'keeper and worker');
    const jobs = found();

    jobs.forEach((p) => procs.signal(p.pid, 'SIGSTOP'));
    if (jobs.length === 2 && !over)
      return { id, answer, jobs };
    jobs.forEach((p) => procs.signal(p.pid, 'SIGCONT'));
    await answer;
  }
}

describe('work for a session', { skip: !isRoot && 'needs an overlay' }, () => {
  test('is in its group, and ends when its request is cancelled', async (t) => {
    const { d, c, id } = await start(t, { draft: true });

    await run(c, id, 'truncate -s 900M hole');
    const job = await held(d, () => c.request('_acpd/workspace/diff', { sessionId: id }));

    for (const { pid } of job.jobs)
      assert.match(procs.text(pid, 'cgroup'), new RegExp(`${id}\\.all`));
    const { answer: waiting, id: second } = c.request('_acpd/workspace/diff', { sessionId: id });

    c.notify('$/cancel_request', { requestId: second });
    assert.equal((await waiting).error.data.reason, 'CANCELLED');
    c.notify('$/cancel_request', { requestId: job.id });
    const { error } = await job.answer;

    assert.deepEqual([error.code, error.data.reason], [-32800, 'CANCELLED']);
    await until(() => !job.jobs.some(({ pid }) => procs.cmdline(pid).includes('draft-diff')), 'they are gone');
    assert.equal((await diff(c, id)).changesTotal, 1);
  });
});

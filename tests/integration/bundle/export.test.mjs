// SPDX-License-Identifier: Apache-2.0
// GET /v1/sessions/{id}/bundle: all of a session as one archive, whole, without secrets, as it is at one moment.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { assertManifest, fetchBundle, linesOf, unpack } from '../../lib/bundles.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd, upload } from '../../lib/workspace.mjs';
import { acpdSync } from '../run.mjs';

const SECRET = 'sk-very-secret-9c1f7e2a';
const KEY = 'another-key-55aa01';
let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const text = async (where) => (await fetch(`http://127.0.0.1:${d.port}${where}`, { headers: { Authorization: `Bearer ${d.token}` } })).text();

async function open(meta = {}) {
  const archive = await upload(d, { 'a.txt': 'one\n' });
  const s = await c.newSession({ cwd: newCwd(d), meta: { workspace: { archive }, secrets: { MY_TOKEN: SECRET }, ...meta } });

  return { id: s.sessionId, cwd: s._meta.acpd.cwd, archive };
}

async function bundleOf(id) {
  const got = await fetchBundle(d, id);

  assert.equal(got.status, 200, got.bytes.toString().slice(0, 300));
  assert.equal(got.type, 'application/zstd');
  return unpack(got.bytes, d.dir);
}

describe('a bundle', () => {
  test('has prompts, settings, events, usage, patch and artifacts, each with its hash, and no secret', async () => {
    const { id, archive } = await open({ billingRef: 'team-7', env: { MY_API_KEY: KEY } });

    await c.prompt(id, `echo hello ${SECRET} ${KEY}; write a.txt two ${SECRET}\\n`);
    await c.prompt(id, 'echo again');
    await c.call('_acpd/artifact/put', { sessionId: id, name: 'report.txt', type: 'text/plain', text: 'all is well' });
    const members = await bundleOf(id);
    const manifest = assertManifest(members);
    const events = await text(`/v1/sessions/${id}/events?format=ndjson`);
    const session = JSON.parse(members['session.json']);

    assert.equal(manifest.sessionId, id);
    assert.equal(manifest.seq, linesOf(Buffer.from(events)).at(-1).seq);
    assert.equal(members['events.ndjson'].toString(), events);
    assert.deepEqual(linesOf(members['events.ndjson']).filter((e) => e.kind === 'prompt').map((e) => e.content.text.slice(0, 10)), ['echo hello', 'echo again']);
    assert.equal(members['usage.ndjson'].toString(), await text(`/v1/usage?session=${id}`));
    assert.equal(linesOf(members['usage.ndjson']).filter((l) => l.type === 'turn').length, 2);
    assert.equal(members['diff.patch'].toString(), (await c.call('_acpd/workspace/diff', { sessionId: id })).patch);
    assert.match(members['diff.patch'].toString(), /\+two \*\*\*/);
    assert.deepEqual({ id: session.sessionId, harness: session.harness, bill: session.settings.billingRef }, { id, harness: 'stub', bill: 'team-7' });
    assert.ok(session.settings.source.archive === archive, 'the digest of what the workspace was made of');
    assert.match(session.workspace.state, /^[0-9a-f]{64}$/);
    assert.deepEqual(session.artifacts.map((a) => [a.id, a.name]), [['art_1', 'turn-1.diff'], ['art_2', 'report.txt']]);
    assert.equal(members['artifacts/art_2'].toString(), 'all is well');
    for (const [name, data] of Object.entries(members))
      assert.ok(!data.includes(SECRET) && !data.includes(KEY), name);
    await c.call('session/delete', { sessionId: id });
  });

  test('of a running session is of one moment: nothing in it is of later', async () => {
    const { id } = await open();

    await c.prompt(id, 'echo first');
    const running = c.prompt(id, 'echo begun; sleep 20000');
    await until(() => c.chunks(id).includes('begun'));
    const members = await bundleOf(id);
    const manifest = assertManifest(members);
    const events = linesOf(members['events.ndjson']);

    assert.equal(manifest.running, 2);
    assert.deepEqual(events.map((e) => e.seq), Array.from({ length: manifest.seq }, (_, i) => i + 1));
    assert.equal(events.filter((e) => e.final).length, 1);
    assert.deepEqual(linesOf(members['usage.ndjson']).filter((l) => l.type === 'turn').map((l) => l.turn), [1]);
    assert.equal(JSON.parse(members['session.json']).seq, manifest.seq);
    c.cancel(id);
    await running;
  });

  test('of a session without a baseline says that there is no patch', async () => {
    const { sessionId } = await c.newSession();
    const members = await bundleOf(sessionId);

    assertManifest(members);
    assert.equal(members['diff.patch'], undefined);
    assert.deepEqual(JSON.parse(members['session.json']).workspace.patch, { missing: 'NO_BASELINE' });
  });

  test('is longer than a turn of the loop, and clients that go away leave nothing', async () => {
    const { id } = await open();

    await c.prompt(id, 'flood 20000 200');
    const members = await bundleOf(id);

    assert.equal(linesOf(members['events.ndjson']).filter((e) => e.kind === 'message').length, 20000);
    assertManifest(members);
    for (let i = 0; i < 5; i++) {
      const stop = new AbortController();
      const asked = fetch(`http://127.0.0.1:${d.port}/v1/sessions/${id}/bundle`, { headers: { Authorization: `Bearer ${d.token}` }, signal: stop.signal });

      if (i > 2)
        await (await asked).body.getReader().read();
      stop.abort();
      await asked.catch(() => {});
    }
    await until(() => fs.readdirSync(`${d.stateDir}/bundles`).length === 0);
  });

  test('is not had of a session that is not there, and its query takes nothing', async () => {
    assert.equal((await fetchBundle(d, 'sess_none')).status, 404);
    const res = await fetch(`http://127.0.0.1:${d.port}/v1/sessions/sess_none/bundle?x=1`, { headers: { Authorization: `Bearer ${d.token}` } });

    assert.equal(res.status, 400);
    assert.equal((await res.json()).error.reason, 'QUERY_UNKNOWN');
  });

  test('is written by acpd bundle export, whole or not at all', async () => {
    const { id } = await open();
    const file = `${d.dir}/out.acpd`;
    const run = (...args) => acpdSync(['bundle', 'export', ...args, '--socket', d.acpSocket], { encoding: 'buffer', maxBuffer: 1 << 26 });

    await c.prompt(id, 'echo hi');
    const got = run(id, '-o', file, '--json');
    assert.equal(got.status, 0, got.stderr.toString());
    assert.deepEqual(JSON.parse(got.stdout), { sessionId: id, file, bytes: fs.statSync(file).size });
    const members = unpack(fs.readFileSync(file), d.dir);
    assert.equal(assertManifest(members).sessionId, id);
    const piped = run(id);
    assert.equal(piped.status, 0);
    assert.deepEqual(unpack(piped.stdout, d.dir)['events.ndjson'], members['events.ndjson']);
    const none = run('sess_none', '-o', `${d.dir}/none.acpd`);
    assert.equal(none.status, 3);
    assert.match(none.stderr.toString(), /SESSION_NOT_FOUND/);
    assert.ok(!fs.existsSync(`${d.dir}/none.acpd`));
    assert.equal(run('../x').status, 2);
  });

  test('of a closed session is the same as before, and of a deleted one there is none', async () => {
    const { id } = await open();

    await c.prompt(id, 'write b.txt new');
    const before = await bundleOf(id);
    await c.call('session/close', { sessionId: id });
    const closed = await bundleOf(id);

    assert.deepEqual(closed['diff.patch'], before['diff.patch']);
    assert.ok(closed['events.ndjson'].toString().startsWith(before['events.ndjson'].toString()));
    await c.call('session/delete', { sessionId: id });
    assert.equal((await fetchBundle(d, id)).status, 404);
  });
});

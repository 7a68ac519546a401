// SPDX-License-Identifier: Apache-2.0
// POST /v1/bundles: a session made of a bundle, on a daemon that has never seen it; and what is no bundle, or one that somebody changed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { assertManifest, fetchBundle, linesOf, pack, sha256, unpack } from '../../lib/bundles.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd, upload } from '../../lib/workspace.mjs';
import { acpdSync } from '../run.mjs';

let d, c, id, cwd, bundle, members, original;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
  const archive = await upload(d, { 'a.txt': 'one\n' });
  const s = await c.newSession({ cwd: newCwd(d), meta: { workspace: { archive } } });

  id = s.sessionId;
  cwd = s._meta.acpd.cwd;
  await c.prompt(id, 'title The run; echo hello; tool t1 edit Look; plan; write a.txt two\\n');
  await c.prompt(id, 'think hm; echo done');
  await c.call('_acpd/artifact/put', { sessionId: id, name: 'report.txt', type: 'text/plain', text: 'well' });
  original = await replayed(d, id, cwd);
  bundle = (await fetchBundle(d, id)).bytes;
  members = unpack(bundle, d.dir);
});
after(() => endInOrder(d, c));

// What a client is told that loads the session, but for the life of the session itself.
async function replayed(daemon, sessionId, dir) {
  const own = await daemon.client();

  await own.load(sessionId, { cwd: dir });
  const told = own.messages.filter((m) => m.method && m.params?.sessionId === sessionId && m.params.event?.kind !== 'lifecycle');

  await own.close();
  return told;
}

const auth = (daemon) => ({ Authorization: `Bearer ${daemon.token}` });

async function take(daemon, bytes) {
  const archive = await upload(daemon, bytes);
  const res = await fetch(`http://127.0.0.1:${daemon.port}/v1/bundles?archive=${archive}`, { method: 'POST', headers: auth(daemon) });

  return { status: res.status, ...(await res.json()) };
}

const refusal = async (bytes) => {
  const { status, error } = await take(other, bytes);

  return [status, error?.reason, error?.message];
};
let other;

describe('an imported session', () => {
  before(async () => { other = await Daemon.start(); });
  after(() => other.stop());

  test('is listed and loaded as what it was, on another daemon and after its restart, and is exported again the same', async () => {
    const file = `${d.dir}/run.acpd`;

    fs.writeFileSync(file, bundle);
    const run = acpdSync(['bundle', 'import', file, '--socket', other.acpSocket]);
    assert.equal(run.status, 0, run.stderr);
    assert.equal(run.stdout, `${id}\n`);
    for (const turn of ['at once', 'after a restart']) {
      const listed = await (await fetch(`http://127.0.0.1:${other.port}/v1/sessions/${id}`, { headers: auth(other) })).json();

      assert.deepEqual({ harness: listed.harness, state: listed.state, title: listed.title, imported: listed.imported }, { harness: 'stub', state: 'closed', title: 'The run', imported: true }, turn);
      assert.deepEqual(await replayed(other, id, cwd), original, turn);
      const again = unpack((await fetchBundle(other, id)).bytes, d.dir);
      assertManifest(again);
      for (const name of Object.keys(members).filter((n) => n !== 'manifest.json'))
        assert.deepEqual(again[name]?.toString(), members[name].toString(), `${turn}: ${name}`);
      if (turn === 'at once')
        await other.restart();
    }
    assert.equal((await fetch(`http://127.0.0.1:${other.port}/v1/usage`, { headers: auth(other) })).headers.get('acpd-last'), '0', 'its usage was counted where it was used');
  });

  test('takes no prompt and nothing else that would change it, and is not imported twice', async () => {
    const cl = await other.client();

    await cl.load(id, { cwd });
    for (const [method, params] of [['session/prompt', { prompt: [{ type: 'text', text: 'echo x' }] }], ['session/fork', { cwd, mcpServers: [] }], ['_acpd/artifact/put', { name: 'x', text: 'y' }]]) {
      const e = await cl.fails(method, { sessionId: id, ...params });
      assert.equal(e.data.reason, 'SESSION_IMPORTED', method);
    }
    const res = await fetch(`http://127.0.0.1:${other.port}/v1/sessions/${id}/workspace`, { headers: auth(other) });
    assert.deepEqual([res.status, (await res.json()).error.reason], [409, 'SESSION_IMPORTED']);
    assert.deepEqual((await refusal(bundle)).slice(0, 2), [409, 'SESSION_EXISTS']);
    assert.deepEqual((await take(d, bundle)).error.reason, 'SESSION_EXISTS');
    await cl.call('session/delete', { sessionId: id });
    await cl.close();
    assert.ok(!fs.existsSync(`${other.stateDir}/runs/${id}`));
    assert.equal((await take(other, bundle)).sessionId, id);
    await (await other.client()).call('session/delete', { sessionId: id });
  });
});

// change: (members) => members. The manifest says what there is then, unless it is changed after that.
const made = (change, options) => pack(change({ ...members }), options);
const tampered = (change) => {
  const files = JSON.parse(members['manifest.json']).files;

  return pack(change({ ...members }), { change: (m) => ({ ...m, files }) });
};
const line = (record) => {
  const head = JSON.stringify(record).slice(0, -1);
  const table = Array.from({ length: 256 }, (_, n) => { let v = n; for (let k = 0; k < 8; k++) v = v & 1 ? (v >>> 1) ^ 0x82f63b78 : v >>> 1; return v >>> 0; });
  let crc = 0xffffffff;

  for (const b of Buffer.from(head))
    crc = table[(crc ^ b) & 255] ^ (crc >>> 8);
  return `${head},"crc":"${((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0')}"}\n`;
};
const first = () => JSON.parse(members['journal.ndjson'].toString().split('\n')[0]);
const journal = (change) => (m) => {
  const { crc: _, ...record } = first();

  change(record);
  return { ...m, 'journal.ndjson': line(record) };
};

const REFUSED = [
  ['a byte changed', () => tampered((m) => ({ ...m, 'events.ndjson': Buffer.from(m['events.ndjson']).fill('x', 5, 6) })), 'BUNDLE_TAMPERED', /events.ndjson/],
  ['a member cut short', () => tampered((m) => ({ ...m, 'usage.ndjson': m['usage.ndjson'].subarray(0, 10) })), 'BUNDLE_TAMPERED', /usage.ndjson/],
  ['a member missing', () => tampered(({ 'diff.patch': _, ...m }) => m), 'BUNDLE_TAMPERED', /diff.patch/],
  ['a member more', () => made((m) => m, { extra: { 'artifacts/art_9': 'x' } }), 'BUNDLE_TAMPERED', /art_9/],
  ['a member twice, the same', () => made((m) => m, { again: { 'diff.patch': members['diff.patch'] } }), 'NAME_TWICE', /diff.patch/],
  ['a member twice, another first', () => made((m) => ({ ...m, 'diff.patch': 'x' }), { change: (m) => ({ ...m, files: JSON.parse(members['manifest.json']).files }), again: { 'diff.patch': members['diff.patch'] } }), 'NAME_TWICE', /diff.patch/],
  ['its manifest twice', () => made((m) => m, { again: { 'manifest.json': '{}' } }), 'NAME_TWICE', /manifest.json/],
  ['a file that no bundle has', () => made((m) => m, { extra: { 'run.sh': 'x' } }), 'BUNDLE_TAMPERED', /run.sh/],
  ['a link', () => made((m) => m, { extra: { 'artifacts/art_9': { link: 'art_1' } } }), 'BUNDLE_TAMPERED', /art_9/],
  ['a link out of it', () => made((m) => m, { extra: { 'model/calls.ndjson': { link: '/etc/passwd' } } }), 'SYMLINK_ABSOLUTE', /./],
  ['a name that leads out', () => made((m) => m, { extra: { '../x': 'x' } }), 'NAME_DOTDOT', /./],
  ['a newer version', () => made((m) => m, { change: (m) => ({ ...m, version: 2 }) }), 'BUNDLE_VERSION', /version 2/],
  ['another format', () => made((m) => m, { change: (m) => ({ ...m, format: 'zip' }) }), 'BUNDLE_INVALID', /format/],
  ['a manifest that is none', () => made((m) => m, { change: () => '[' }), 'BUNDLE_INVALID', /JSON/],
  ['names that it may not have', () => made((m) => ({ ...m, 'artifacts/a b': 'x' })), 'BUNDLE_INVALID', /a b/],
  ['one member twice in the manifest', () => made((m) => m, { change: (m) => ({ ...m, files: [...m.files, m.files[0]] }) }), 'BUNDLE_INVALID', /twice/],
  ['members of no size', () => made((m) => m, { change: (m) => ({ ...m, files: m.files.map((f) => ({ ...f, bytes: -1 })) }) }), 'BUNDLE_INVALID', /bytes/],
  ['a number of events that no session has', () => made((m) => m, { change: (m) => ({ ...m, seq: 2 ** 62 }) }), 'BUNDLE_INVALID', /seq/],
  ['a negative turn', () => made((m) => m, { change: (m) => ({ ...m, running: -1 }) }), 'BUNDLE_INVALID', /running/],
  ['another session\'s id', () => made((m) => m, { change: (m) => ({ ...m, sessionId: '../../etc' }) }), 'BUNDLE_INVALID', /sessionId/],
  ['an id of the right length that leads elsewhere', () => made((m) => m, { change: (m) => ({ ...m, sessionId: `sess_${'/..'.repeat(10)}/x` }) }), 'BUNDLE_INVALID', /sessionId is no id/],
  ['no journal', () => made(({ 'journal.ndjson': _, ...m }) => m), 'BUNDLE_INVALID', /journal/],
  ['no session.json', () => made(({ 'session.json': _, ...m }) => m), 'BUNDLE_INVALID', /session.json/],
  ['a journal that is no lines', () => made((m) => ({ ...m, 'journal.ndjson': 'x\n' })), 'BUNDLE_INVALID', /event 0/],
  ['half a line at its end', () => made((m) => ({ ...m, 'journal.ndjson': m['journal.ndjson'].subarray(0, m['journal.ndjson'].length - 5) })), 'BUNDLE_INVALID', /journal/],
  ['an event that is a request', () => made(journal((r) => { r.m.id = 1; })), 'BUNDLE_INVALID', /event 0/],
  ['an event of another method', () => made(journal((r) => { r.m.method = 'session/request_permission'; })), 'BUNDLE_INVALID', /event 0/],
  ['an event of another session', () => made(journal((r) => { r.m.params.sessionId = 'sess_1'; })), 'BUNDLE_INVALID', /event 0/],
  ['an event of another number', () => made(journal((r) => { r.m.params._meta.acpd.seq = 77; })), 'BUNDLE_INVALID', /event 0/],
  ['an event of no kind', () => made(journal((r) => { r.k = 'what'; })), 'BUNDLE_INVALID', /event 0/],
  ['no archive at all: no bundle', () => made((m) => ({ 'manifest.json': m['manifest.json'] }), { change: (m) => ({ ...m, files: [] }) }), 'BUNDLE_INVALID', /session.json/],
  ['an archive without a manifest', () => pack({}, { change: () => '{}' }), 'BUNDLE_INVALID', /./],
];

describe('what is refused', () => {
  before(async () => { other = await Daemon.start(); });
  after(() => other.stop());

  for (const [name, make, reason, text] of REFUSED) {
    test(name, async () => {
      const [status, said, message] = await refusal(make());

      assert.deepEqual([status, said], [400, reason], message);
      assert.match(message, text);
    });
  }

  test('half a file, a million members, and a bomb', async () => {
    assert.equal((await refusal(bundle.subarray(0, bundle.length >> 1)))[0], 400);
    const many = pack(Object.fromEntries(Array.from({ length: 20000 }, (_, i) => [`artifacts/art_${i}`, ''])));
    assert.deepEqual((await refusal(many)).slice(0, 2), [400, 'TOO_MANY_ENTRIES']);
    const bomb = pack({ ...members, 'artifacts/art_9': Buffer.alloc(64 << 20) });
    assert.deepEqual((await refusal(bomb)).slice(0, 2), [400, 'RATIO_TOO_HIGH']);
  });

  test('leaves nothing, and a query that names no archive is one', async () => {
    for (const [query, status, reason] of [['', 400, 'QUERY_INVALID'], ['?archive=x', 400, 'QUERY_INVALID'], ['?x=1', 400, 'QUERY_UNKNOWN'], [`?archive=sha256:${sha256('none')}`, 404, 'ARCHIVE_NOT_FOUND']]) {
      const res = await fetch(`http://127.0.0.1:${other.port}/v1/bundles${query}`, { method: 'POST', headers: auth(other) });
      assert.deepEqual([res.status, (await res.json()).error.reason], [status, reason], query);
    }
    await until(() => fs.readdirSync(`${other.stateDir}/bundles`).length === 0);
    assert.deepEqual(fs.readdirSync(`${other.stateDir}/sessions`), []);
    assert.ok(!fs.existsSync(`${other.stateDir}/runs`));
    assert.equal(linesOf(members['usage.ndjson']).length > 0, true);
  });
});

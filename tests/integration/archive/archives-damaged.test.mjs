// SPDX-License-Identifier: Apache-2.0
// A bit of a stored archive changes: whoever uses it is told, nothing of it is written, and it can be uploaded again.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { digestOf, head, put } from '../../lib/archives.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { acpd } from '../run.mjs';
import {
  PACK, archiveOf, assertNothingLeft, below, look, newCwd, skill, stagesBelow, treeOf, upload,
} from '../../lib/workspace.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const TREE = { 'src/a.txt': 'hello\n', 'b.bin': Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i) % 251)) };
const ON_DISK = { 'src/a.txt': 'hello\n', 'b.bin': TREE['b.bin'].toString('latin1') };
const POSITIONS = { first: () => 0, middle: (n) => n >> 1, last: (n) => n - 1 };
const stored = (data, x = d) => path.join(x.stateDir, 'archives', digestOf(data).slice(7));

function flip(data, where, x = d) {
  const file = stored(data, x);
  const bytes = fs.readFileSync(file);

  assert.ok(bytes.equals(data));
  bytes[where(bytes.length)] ^= 0x10;
  fs.chmodSync(file, 0o600);
  fs.writeFileSync(file, bytes);
  fs.chmodSync(file, 0o400);
}

const open = (cwd, meta) => c.newSession({ cwd, meta });
const count = () => d.metric('acpd_archives_damaged_total');

// The use fails as damaged, with nothing written, and the file is gone.
async function assertRefused(use, data, field) {
  const [before, was] = [await look(d, c), await count()];
  const e = await use().then(() => assert.fail('it was used'), (error) => error);

  assert.deepEqual([e.code, e.data?.reason, e.data?.field, e.data?.refused?.digest], [-32602, 'ARCHIVE_DAMAGED', field, digestOf(data)], `${e}`);
  assert.match(e.message, /upload it again/);
  assert.ok(e.message.includes(digestOf(data)), e.message);
  assert.ok(!fs.existsSync(stored(data)));
  assert.deepEqual(await head(d, data), { status: 404 });
  assert.equal(await count(), was + 1);
  const { problems } = (await d.http('/ready', { token: d.token })).json;
  assert.ok(problems.some((p) => p.what === 'archive' && p.name === digestOf(data).slice(7)), JSON.stringify(problems));
  await assertNothingLeft(d, c, before);
}

const again = async (data) => assert.equal((await put(d, data)).status, 201);

describe('a workspace', () => {
  for (const format of Object.keys(PACK))
    for (const [name, where] of Object.entries(POSITIONS))
      test(`${format}, a bit of the ${name} byte`, async () => {
        const data = archiveOf({ ...TREE, unlike: `${format} ${name}` }, format);
        const cwd = newCwd(d);
        const meta = { workspace: { archive: await upload(d, data) } };

        flip(data, where);
        await assertRefused(() => open(cwd, meta), data, '_meta.acpd.workspace.archive');
        assert.deepEqual([fs.readdirSync(cwd), stagesBelow(cwd)], [[], []]);
        await again(data);
        await open(cwd, meta);
        assert.deepEqual(treeOf(cwd), { ...ON_DISK, unlike: `${format} ${name}` });
      });

  test('on an open session: what was there stays', async () => {
    const cwd = newCwd(d);
    const [first, data] = [archiveOf({ one: '1' }), archiveOf({ two: '2' })];
    const s = await open(cwd, { workspace: { archive: await upload(d, first) } });
    const use = async () => c.call('_acpd/workspace/materialize', { sessionId: s.sessionId, workspace: { archive: await digestOf(data) } });

    await upload(d, data);
    flip(data, POSITIONS.middle);
    await assertRefused(use, data, 'workspace.archive');
    assert.deepEqual(treeOf(cwd), { one: '1' });
    await again(data);
    await use();
    assert.deepEqual(treeOf(cwd), { two: '2' });
  });

  test('after it was used once, and after a restart', async () => {
    const cwd = newCwd(d);
    const data = archiveOf({ ...TREE, used: 'before' });
    const meta = { workspace: { archive: await upload(d, data) } };

    await open(newCwd(d), meta);
    await c.close();
    await d.stop({ keep: true });
    flip(data, POSITIONS.last);
    await d.restart();
    c = await d.client();
    await assertRefused(() => open(cwd, meta), data, '_meta.acpd.workspace.archive');
    await again(data);
    await open(cwd, meta);
    assert.deepEqual(treeOf(cwd), { ...ON_DISK, used: 'before' });
  });
});

test('skills: which of them it was', async () => {
  const [good, data] = [archiveOf(skill('good')), archiveOf(below('bad', skill('bad')), 'zip')];
  const skills = [{ archive: await upload(d, good) }, { archive: await upload(d, data) }];

  for (const where of Object.values(POSITIONS)) {
    flip(data, where);
    await assertRefused(() => open(newCwd(d), { skills, workspace: { archive: skills[0].archive } }), data, '_meta.acpd.skills[1].archive');
    await again(data);
  }
  const s = await open(newCwd(d), { skills });
  const { skills: there } = await c.call('_acpd/skills/list', { sessionId: s.sessionId });

  assert.deepEqual(there.map((one) => one.name).sort(), ['bad', 'good']);
});

test('two sessions at once: each is told, it counts once', async () => {
  const data = archiveOf({ ...TREE, for: 'both' });
  const meta = { workspace: { archive: await upload(d, data) } };
  const was = await count();

  flip(data, POSITIONS.middle);
  for (const e of await Promise.all([newCwd(d), newCwd(d)].map((cwd) => open(cwd, meta).catch((error) => error)))) {
    assert.ok(['ARCHIVE_DAMAGED', 'ARCHIVE_NOT_FOUND'].includes(e.data?.reason), String(e));
    assert.equal(e.data.field, '_meta.acpd.workspace.archive');
  }
  assert.equal(await count(), was + 1);
});

test('an archive that was uploaded with such a fault is as it was uploaded: it stays, and its own fault is told', async () => {
  const data = archiveOf({ ...TREE, is: 'torn' });

  data[data.length - 6] ^= 1; // the CRC of gzip
  const archive = await upload(d, data);
  const was = await count();

  for (const name of ['a', 'b']) {
    const e = await open(newCwd(d), { workspace: { archive } }).catch((error) => error);

    assert.deepEqual([e.data?.reason, e.data?.refused?.digest], ['CRC_MISMATCH', undefined], name);
  }
  assert.deepEqual([(await head(d, data)).status, await count()], [200, was]);
});

test('one that belongs to the image: it is not used, and an upload takes its place', async () => {
  const data = archiveOf({ from: 'the image' });
  const baked = fs.mkdtempSync(path.join(d.dir, 'baked-'));
  const file = path.join(baked, digestOf(data).slice(7));
  const torn = Buffer.from(data);

  torn[torn.length >> 1] ^= 1;
  fs.writeFileSync(file, torn, { mode: 0o444 });
  const x = await Daemon.start({ flags: { archivesBaked: baked } });
  const client = await x.client();

  try {
    const meta = { workspace: { archive: digestOf(data) } };
    const e = await client.newSession({ cwd: newCwd(x), meta }).catch((error) => error);

    assert.equal(e.data?.reason, 'ARCHIVE_DAMAGED', String(e));
    assert.ok(fs.readFileSync(file).equals(torn), 'it is not ours to change');
    assert.equal((await put(x, data)).status, 201);
    const cwd = newCwd(x);
    await client.newSession({ cwd, meta });
    assert.deepEqual(treeOf(cwd), { from: 'the image' });
  } finally {
    await client.close();
    await x.stop();
  }
});

test('acpd run --archive FILE: the first says so, the next uploads it again', async () => {
  const data = archiveOf({ from: 'acpd run' });
  const file = path.join(d.dir, 'run.tar.gz');
  const run = (cwd) => acpd(['run', '--socket', d.acpSocket, '--harness', 'stub', '-p', 'echo done', '--archive', file, '--cwd', cwd]);
  const cwd = newCwd(d);

  fs.writeFileSync(file, data);
  await upload(d, data);
  flip(data, POSITIONS.middle);
  const first = await run(cwd);
  assert.equal(first.code, 1, first.stderr);
  assert.match(first.stderr, /was damaged in the store and has been removed; upload it again/);
  assert.deepEqual(treeOf(cwd), {});
  const next = await run(cwd);
  assert.deepEqual([next.code, next.stdout], [0, 'done\n'], next.stderr);
  assert.deepEqual(treeOf(cwd), { from: 'acpd run' });
});

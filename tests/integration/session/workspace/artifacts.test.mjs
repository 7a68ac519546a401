// SPDX-License-Identifier: Apache-2.0
// Artifacts: what a client leaves with a session, over ACP and over HTTP, and the events that tell of it.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { Stream } from '../../../lib/events.mjs';
import { treeOf } from '../../../lib/workspace.mjs';

let d, c, id;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
  id = (await c.newSession()).sessionId;
});
after(() => endInOrder(d, c));

const sha256 = (bytes) => `sha256:${crypto.createHash('sha256').update(bytes).digest('hex')}`;
const put = (params, sessionId = id) => c.call('_acpd/artifact/put', { sessionId, ...params });
const fails = (verb, params, sessionId = id) => c.fails(`_acpd/artifact/${verb}`, { sessionId, ...params });
const list = async (sessionId = id) => (await c.call('_acpd/artifact/list', { sessionId })).artifacts;
const get = (art, sessionId = id) => c.call('_acpd/artifact/get', { sessionId, id: art });
const fetched = (art, headers = {}, sessionId = id) =>
  fetch(`http://127.0.0.1:${d.port}/v1/sessions/${sessionId}/artifacts/${art}`, { headers: { Authorization: `Bearer ${d.token}`, ...headers } });

describe('put, list, get', () => {
  const BYTES = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 31) & 255));

  test('text and base64 come back byte for byte', async () => {
    const s = (await c.newSession()).sessionId;
    const CASES = [
      [{ name: 'note.md', type: 'text/markdown', text: 'ä\r\n"\\\u2028' }, Buffer.from('ä\r\n"\\\u2028'), 'text'],
      [{ name: 'b.bin', base64: BYTES.toString('base64') }, BYTES, 'base64'],
      [{ name: 'empty', text: '' }, Buffer.alloc(0), 'text'],
      [{ name: 'same', base64: Buffer.from('plain text').toString('base64') }, Buffer.from('plain text'), 'text'],
      [{ name: 'nul', base64: 'AA==' }, Buffer.from([0]), 'base64'],
      [{ name: `${'ü'.repeat(127)}x`, text: 'longest name' }, Buffer.from('longest name'), 'text'],
      [{ name: '../../etc/passwd', text: 'a name is only a name' }, Buffer.from('a name is only a name'), 'text'],
    ];
    const all = [];

    for (const [params, bytes, member] of CASES) {
      const { artifact } = await put(params, s);

      all.push(artifact);
      assert.equal(artifact.id, `art_${all.length}`);
      assert.deepEqual([artifact.name, artifact.type, artifact.size, artifact.sha256, artifact.source, artifact.turn],
        [params.name, params.type ?? 'application/octet-stream', bytes.length, sha256(bytes), 'client', undefined]);
      assert.equal(new Date(artifact.ts).getTime(), artifact.timeMs);
      const got = await get(artifact.id, s);
      assert.deepEqual(got.artifact, artifact);
      assert.deepEqual(Buffer.from(got[member], member === 'text' ? 'utf8' : 'base64'), bytes);
      const res = await fetched(artifact.id, {}, s);
      assert.deepEqual(Buffer.from(await res.arrayBuffer()), bytes);
      assert.deepEqual([res.status, res.headers.get('content-type'), res.headers.get('x-content-type-options'), res.headers.get('content-disposition')],
        [200, artifact.type, 'nosniff', 'attachment']);
    }
    assert.deepEqual(await list(s), all);
    const { json } = await d.http(`/v1/sessions/${s}/artifacts`, { token: d.token });
    assert.deepEqual(json, { artifacts: all });
    assert.deepEqual(treeOf(d.workDir), {});
    await c.call('session/delete', { sessionId: s });
  });

  test('a part of one', async () => {
    const { artifact } = await put({ name: 'b', base64: BYTES.toString('base64') });
    const res = await fetched(artifact.id, { Range: 'bytes=10-19' });

    assert.deepEqual([res.status, res.headers.get('content-range')], [206, 'bytes 10-19/3000']);
    assert.deepEqual(Buffer.from(await res.arrayBuffer()), BYTES.subarray(10, 20));
    assert.equal((await fetched(artifact.id, { Range: 'bytes=3000-' })).status, 416);
  });

  test('a large one goes over HTTP only', async () => {
    const big = crypto.randomBytes(9 * 1048576);
    const { artifact } = await put({ name: 'big', base64: big.toString('base64') });
    const e = await fails('get', { id: artifact.id });

    assert.deepEqual([e.data.reason, e.data.field], ['ARTIFACT_TOO_LARGE', 'id']);
    assert.equal(sha256(Buffer.from(await (await fetched(artifact.id)).arrayBuffer())), artifact.sha256);
  });

  const BAD = [
    ['put', { text: 'x' }, 'name', /^FIELD_/], ['put', { name: '', text: 'x' }, 'name', 'FIELD_INVALID'],
    ['put', { name: 'a\nb', text: 'x' }, 'name', 'FIELD_INVALID'], ['put', { name: 'a\u007f', text: 'x' }, 'name', 'FIELD_INVALID'],
    ['put', { name: 'x'.repeat(256), text: 'x' }, 'name', /^FIELD_/], ['put', { name: 1, text: 'x' }, 'name', 'FIELD_INVALID'],
    ['put', { name: 'a' }, 'text', 'FIELD_INVALID'], ['put', { name: 'a', text: 'x', base64: 'eA==' }, 'text', 'FIELD_INVALID'],
    ['put', { name: 'a', text: 1 }, 'text', 'FIELD_INVALID'], ['put', { name: 'a', base64: '*' }, 'base64', 'FIELD_INVALID'],
    ['put', { name: 'a', base64: 'eA' + '=' + '=' + 'x' }, 'base64', 'FIELD_INVALID'], ['put', { name: 'a', text: 'a\u0000b' }, 'text', 'FIELD_INVALID'],
    ['put', { name: 'a', type: 'text/html\r\nSet-Cookie: x=1', text: 'x' }, 'type', 'FIELD_INVALID'],
    ['put', { name: 'a', type: 'text/ä', text: 'x' }, 'type', 'FIELD_INVALID'], ['put', { name: 'a', type: 'a\tb', text: 'x' }, 'type', 'FIELD_INVALID'],
    ['put', { name: 'a', type: '', text: 'x' }, 'type', 'FIELD_INVALID'], ['put', { name: 'a', type: 'x'.repeat(256), text: 'x' }, 'type', /^FIELD_/],
    ['put', { name: 'a', text: 'x', turn: 1 }, 'turn', 'PARAM_UNSUPPORTED'], ['list', { all: true }, 'all', 'PARAM_UNSUPPORTED'],
    ['get', {}, 'id', /^FIELD_/], ['get', { id: 'art_0' }, undefined, 'ARTIFACT_NOT_FOUND'], ['get', { id: 'art_99999' }, undefined, 'ARTIFACT_NOT_FOUND'],
    ['get', { id: 'art_1x' }, undefined, 'ARTIFACT_NOT_FOUND'], ['get', { id: 'art_+1' }, undefined, 'ARTIFACT_NOT_FOUND'],
    ['get', { id: 'art_ 1' }, undefined, 'ARTIFACT_NOT_FOUND'], ['get', { id: 'art_01' }, undefined, 'ARTIFACT_NOT_FOUND'],
    ['get', { id: 'art_18446744073709551617' }, undefined, 'ARTIFACT_NOT_FOUND'], ['get', { id: '../index.jsonl' }, undefined, 'ARTIFACT_NOT_FOUND'],
  ];

  for (const [verb, params, field, reason] of BAD) {
    test(`refused: ${verb} ${JSON.stringify(params).slice(0, 60)}`, async () => {
      const before = await list();
      const e = await fails(verb, params);

      assert.match(e.data.reason, reason instanceof RegExp ? reason : new RegExp(`^${reason}$`), e.message);
      assert.equal(e.data.field, field, e.message);
      assert.deepEqual(await list(), before);
    });
  }

  test('what is not there is 404, and nothing else of the folder can be had', async () => {
    await put({ name: 'a', text: 'x' });
    // libwebsockets 4.3 ends a connection whose path has a NUL
    assert.ok([400, 404, 'ended'].includes(await fetched('%00').then((res) => res.status, () => 'ended')));
    for (const art of ['art_0', 'art_99999', 'index.jsonl', '..%2f..%2fowner', 'art_+1', 'art_01']) {
      const res = await fetched(art);

      assert.ok([400, 404].includes(res.status), `${art} ${res.status}`);
      assert.equal(typeof (await res.json()).error.reason, 'string');
    }
    for (const verb of ['put', 'list', 'get'])
      assert.equal((await fails(verb, { ...(verb === 'put' && { name: 'a', text: '' }), ...(verb === 'get' && { id: 'art_1' }) }, 'sess_0')).data.reason, 'SESSION_NOT_FOUND');
    assert.equal((await fetched('art_1', {}, 'sess_0')).status, 404);
    assert.equal((await d.http(`/v1/sessions/${id}/artifacts/art_1`)).status, 401);
    assert.equal((await d.http(`/v1/sessions/${id}/artifacts?x=1`, { token: d.token })).status, 400);
  });

  test('clients are told by an event, and so is the log', async () => {
    const s = (await c.newSession()).sessionId;
    const live = await Stream.open(d, `/v1/sessions/${s}/events?follow=true`);
    const { artifact } = await put({ name: 'a', text: 'x' }, s);
    const note = await c.waitFor((m) => m.method === '_acpd/event' && m.params.sessionId === s && m.params.event.kind === 'artifact');

    assert.deepEqual(note.params.event.artifact, artifact);
    await live.until((x) => x.events.some((e) => e.kind === 'artifact'));
    const [event] = live.events.filter((e) => e.kind === 'artifact');
    assert.equal(event.seq, note.params._meta.acpd.seq);
    assert.ok(JSON.stringify(event).includes(JSON.stringify(artifact.id)));
    live.close();
    await c.call('session/delete', { sessionId: s });
  });
});

describe('how long they are kept', () => {
  test('over a restart, also what a crash has torn; delete removes them', async () => {
    const { sessionId } = await c.newSession();
    const first = (await put({ name: 'one', text: '1' }, sessionId)).artifact;
    const second = (await put({ name: 'two', text: '2' }, sessionId)).artifact;
    const dir = path.join(d.stateDir, 'artifacts', sessionId);

    await c.call('session/close', { sessionId });
    assert.deepEqual(await list(sessionId), [first, second], 'closed');
    await c.close();
    await d.kill9();
    fs.appendFileSync(path.join(dir, 'index.jsonl'), '{"id":"art_3","na');
    fs.writeFileSync(path.join(dir, 'art_3'), 'half');
    await d.restart();
    c = await d.client();
    assert.deepEqual(await list(sessionId), [first, second]);
    assert.equal((await get('art_2', sessionId)).text, '2');
    assert.equal(await (await fetched('art_1', {}, sessionId)).text(), '1');
    const third = (await put({ name: 'three', text: '3' }, sessionId)).artifact;
    assert.equal(third.id, 'art_3');
    assert.equal((await get('art_3', sessionId)).text, '3');
    await c.close();
    await d.restart();
    c = await d.client();
    assert.deepEqual(await list(sessionId), [first, second, third]);
    await c.call('session/delete', { sessionId });
    assert.equal(fs.existsSync(dir), false);
    assert.equal((await fetched('art_1', {}, sessionId)).status, 404);
  });

  test('as many as a session may have', async () => {
    const { sessionId } = await c.newSession();
    const dir = path.join(d.stateDir, 'artifacts', sessionId);
    const { artifact } = await put({ name: 'a', text: 'x' }, sessionId);

    await c.call('session/close', { sessionId });
    await c.close();
    await d.stop({ keep: true });
    fs.writeFileSync(path.join(dir, 'index.jsonl'), Array.from({ length: 9999 }, (_, i) => `${JSON.stringify({ ...artifact, id: `art_${i + 1}` })}\n`).join(''));
    await d.restart();
    c = await d.client();
    assert.equal((await list(sessionId)).length, 9999);
    assert.equal((await put({ name: 'last', text: '' }, sessionId)).artifact.id, 'art_10000');
    assert.equal((await fails('put', { name: 'more', text: '' }, sessionId)).data.reason, 'TOO_MANY');
    await c.call('session/delete', { sessionId });
  });

  test('a full disk, or a folder that nobody can write', async () => {
    const { sessionId } = await c.newSession();
    const dir = path.join(d.stateDir, 'artifacts', sessionId);

    fs.mkdirSync(path.dirname(dir), { recursive: true });
    fs.writeFileSync(dir, 'in the way');
    const e = await fails('put', { name: 'a', text: 'x' }, sessionId);
    assert.deepEqual([e.code, e.data.reason], [-32603, 'STATE_NOT_WRITABLE']);
    fs.rmSync(dir);
    assert.deepEqual(await list(sessionId), []);
    assert.equal((await put({ name: 'a', text: 'x' }, sessionId)).artifact.id, 'art_1');
    await c.call('session/delete', { sessionId });
  });
});

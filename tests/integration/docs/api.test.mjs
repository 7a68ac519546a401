// SPDX-License-Identifier: Apache-2.0
// build: release
// The description of the API: that it is whole, and made from the tables; that OpenAPI's own linter has nothing to say of it; that the daemon
// serves it to everybody; that the types of TypeScript are made from it; and that the tests see what is not described.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { spawnSync } from 'node:child_process';
import { build, OUTPUT } from '../../../daemon/api/build.mjs';
import { types, TYPES } from '../../../daemon/api/types.mjs';
import { Daemon, ROOT } from '../../lib/daemon.mjs';
import { api, httpProblems, messageProblems } from '../../lib/described.mjs';
import { acpd } from '../run.mjs';

const text = fs.readFileSync(OUTPUT, 'utf8');

test('it describes all tables of the daemon, and is made from them', async () => {
  assert.ok(await build() === text, 'daemon/api/openapi.json is old: make api');
});

test('the types of TypeScript are made from it', async () => {
  assert.ok(await types() === fs.readFileSync(TYPES, 'utf8'), 'images/acpd-api.d.ts is old: make api');
});

test('the linter of OpenAPI finds nothing', () => {
  const cli = path.join(ROOT, 'tests/node_modules/@redocly/cli/bin/cli.js');
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const lint = (file) => spawnSync(process.execPath, [cli, 'lint', '--config', path.join(ROOT, 'daemon/api/redocly.yaml'), file], { env, encoding: 'utf8' });
  const { status, stdout, stderr } = lint(OUTPUT);

  assert.equal(status, 0, `${stdout}${stderr}`);
});

test('everybody gets it, of a daemon that nobody has claimed, too, and without any daemon', async (t) => {
  const d = await Daemon.startFor(t, { token: null });
  const { status, headers, body } = await d.http('/openapi.json');

  assert.deepEqual([status, headers['content-type']], [200, 'application/json']);
  assert.ok(body === text, 'as it stands in the tree');
  assert.equal((await d.http('/v1/info')).status, 503);
  const { code, stdout } = await acpd(['openapi']);

  assert.equal(code, 0);
  assert.ok(stdout === text);
});

test('the tests see a member, a route, a status, a method, a type that is not described', () => {
  const get = (where, status, body, type = 'application/json') =>
    httpProblems({ method: 'GET', where }, { status, headers: { 'content-type': type }, body: typeof body === 'string' ? body : JSON.stringify(body) });

  assert.deepEqual(get('/health', 200, { status: 'ok' }), []);
  assert.match(get('/health', 200, { status: 'ok', since: 1 })[0], /additional properties since/);
  assert.match(get('/health', 200, { status: 'well' })[0], /allowed values/);
  assert.match(get('/health', 200, 'ok', 'text/plain')[0], /type text\/plain, which is not described/);
  assert.match(get('/health', 204, '')[0], /204 is not described/);
  assert.match(get('/v1/nothing', 200, {})[0], /200 is not described/);
  assert.match(get('/v1/usage?colour=red', 200, { records: [], last: 0 })[0], /colour of its query is not described/);
  assert.match(get('/v1/usage?since=-1', 200, { records: [], last: 0 })[0], /since of its query/);
  const event = (more) => get('/v1/sessions/x/events', 200, JSON.stringify({ seq: 1, ts: '2026-11-21T08:00:00.000Z', sessionId: 'x', ...more }), 'application/x-ndjson');

  assert.deepEqual(event({ kind: 'lifecycle', event: 'closed' }), []);
  assert.deepEqual(event({ kind: 'message', content: { type: 'text', text: 'of ACP' } }), []);
  for (const wrong of [{ kind: 'lifecycle', event: 'closed', why: 'x' }, { kind: 'lifecycle', event: 'opened' }, { kind: 'complete', final: true, cost: 1 }, { kind: 'news' }])
    assert.equal(event(wrong).length, 1, JSON.stringify(wrong));
  assert.match(messageProblems({ result: {} }, { method: '_acpd/nothing' })[0], /is not described/);
  assert.match(messageProblems({ result: { x: 1 } }, { method: '_acpd/ack', params: { sessionId: 's', seq: 1 } })[0], /additional properties x/);
  assert.match(messageProblems({ result: {} }, { method: '_acpd/ack', params: { sessionId: 's' } })[0], /seq/);
  assert.match(messageProblems({ method: '_acpd/news', params: {} })[0], /is not described/);
  assert.match(messageProblems({ method: 'session/update', params: { _meta: { acpd: { seq: 1, no: 2 } } } })[0], /additional properties no/);
});

test('every operation has what a reader needs', () => {
  for (const [where, methods] of Object.entries(api.paths))
    for (const [method, { operationId, summary, responses }] of Object.entries(methods))
      assert.ok(operationId && summary && responses['4XX'], `${method} ${where}`);
});

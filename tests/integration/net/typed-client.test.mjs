// SPDX-License-Identifier: Apache-2.0
// build: release
// images/acpd-client.ts on the official SDK, before a real daemon: claim, upload, a session with a workspace, events, usage, diffs, model
// calls by images/model-tunnel.ts, answers out of band, refusals by name.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import http from 'node:http';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { AcpdAgent, AcpdClient, AcpdError, digestOf } from '../../../images/acpd-client.ts';
import { startModelServer } from '../../harness/model-server.mjs';
import { FORMATS } from '../../harness/model-formats.mjs';
import { KEY, tunnelTo } from '../../harness/rig.mjs';
import { Daemon, endInOrder, withDaemon } from '../../lib/daemon.mjs';
import { STUB_WITH_PROVIDER, listenerOf } from '../../lib/model-calls.mjs';
import { connectSdk } from '../../lib/sdk.mjs';

let d, c, agent, daemon, model, archive;

before(async () => {
  model = await startModelServer({ key: KEY });
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  daemon = new AcpdClient({ url: `http://127.0.0.1:${d.port}`, headers: { authorization: `Bearer ${d.token}` } });
  const tunnel = tunnelTo(model.url);

  c = await connectSdk(d, { tunnel, onPermission: () => new Promise(() => {}) }); // who drives does not answer
  await c.initialize({ acpd: { model: tunnel.capability } });
  agent = new AcpdAgent(c.agent);
  fs.mkdirSync(path.join(d.dir, 'repo'));
  fs.writeFileSync(path.join(d.dir, 'repo/price.txt'), '10\n');
  execFileSync('tar', ['-czf', 'repo.tar.gz', 'repo'], { cwd: d.dir });
  archive = fs.readFileSync(path.join(d.dir, 'repo.tar.gz'));
});
after(async () => {
  await c?.close();
  await model?.close();
  await endInOrder(d);
});

const open = async (more = {}) => agent.carry('session/new', { cwd: '/', mcpServers: [] },
  { harness: 'stub', workspace: { archive: await daemon.upload(archive), ephemeral: true, strip: 'auto' }, ...more });

test('upload sends the bytes once, and names what is wrong', async () => {
  const digest = await daemon.upload(archive);

  assert.equal(digest, `sha256:${crypto.createHash('sha256').update(archive).digest('hex')}`);
  assert.equal(await daemon.upload(archive), digest);
  await assert.rejects(daemon.upload(Buffer.from('no archive at all')), (e) => e instanceof AcpdError && e.status === 400 && e.reason === 'FORMAT_UNKNOWN');
});

test('a session with a workspace: diff, usage, events, artifacts, each with its type', async () => {
  const { sessionId, acpd } = await open();

  assert.equal(acpd.context, 'kept');
  fs.writeFileSync(path.join(acpd.cwd, 'price.txt'), '12\n');
  const { stopReason, acpd: end } = await agent.carry('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'echo done' }] }, { key: 'k-1' });
  const { patch, files } = await agent.diff(sessionId, daemon);
  const records = await agent.usage(sessionId);
  const events = await Array.fromAsync(daemon.events(sessionId));
  const ledger = await Array.fromAsync(daemon.usage({ session: sessionId }));
  const { artifact } = await agent.call('_acpd/artifact/put', { sessionId, name: 'a.txt', text: 'of the client' });

  assert.deepEqual([stopReason, files], ['end_turn', 1]);
  assert.match(patch, /^-10\n\+12$/m);
  assert.deepEqual(records.filter((r) => r.type === 'turn').map((r) => r.key), ['k-1']);
  assert.deepEqual(ledger, records);
  assert.deepEqual(events.map((e) => e.seq), Array.from(events, (_, i) => i + 1));
  assert.ok(events.some((e) => e.final && e.kind === 'complete' && e.seq <= end.seq));
  assert.equal(Buffer.from(await daemon.artifact(sessionId, artifact.id)).toString(), 'of the client');
});

test('events are followed as they come, from where one was, until one has enough', async () => {
  const { sessionId } = await open();
  const stop = new AbortController();
  const seen = [];
  const { seq } = await daemon.session(sessionId);
  const following = (async () => {
    for await (const event of daemon.events(sessionId, { follow: true, since: seq, signal: stop.signal })) {
      seen.push(event);
      if (event.final)
        break;
    }
  })();

  await agent.carry('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'echo as it comes' }] }, {});
  await following;
  assert.ok(seen.every((e) => e.seq > seq) && seen.at(-1).final);
  const aborted = assert.rejects(Array.fromAsync(daemon.events(sessionId, { follow: true, signal: stop.signal })), { name: 'AbortError' });

  stop.abort();
  await aborted;
});

test('a question is answered out of band', async () => {
  const { sessionId } = await open();
  const turn = agent.carry('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'perm call_1' }] }, {});
  let asked;

  while (!asked)
    [asked] = (await daemon.approvals({ session: sessionId })).approvals;
  const { answer } = await daemon.answer(asked.id, { optionId: 'allow' });

  assert.deepEqual(answer, { outcome: { outcome: 'selected', optionId: 'allow' } });
  await turn;
  await assert.rejects(daemon.answer(asked.id, { optionId: 'allow' }), { name: 'Error', status: 409, reason: 'APPROVAL_ANSWERED' });
});

test('model calls pass through the client', async () => {
  const { sessionId } = await agent.carry('session/new', { cwd: d.workDir, mcpServers: [] }, { harness: STUB_WITH_PROVIDER.id, provider: { api: 'openai-chat', via: 'tunnel' } });
  const { root, key } = await listenerOf(sessionId);
  const format = FORMATS['openai-chat'];
  const res = await fetch(root + format.path('m1', false), { method: 'POST', headers: { 'content-type': 'application/json', ...format.headers(key) },
    body: JSON.stringify({ model: 'm1', stream: false, ...format.body([{ role: 'user', text: 'say it' }], []) }) });

  assert.equal(res.status, 200);
  assert.equal(model.requests.length, 1);
  await res.text();
});

test('what the daemon refuses has its reason', async () => {
  await assert.rejects(daemon.session('none'), (e) => e instanceof AcpdError && e.status === 404 && e.reason === 'SESSION_NOT_FOUND');
  await assert.rejects(new AcpdClient({ url: `http://127.0.0.1:${d.port}`, headers: {} }).info(), { status: 401, reason: 'UNAUTHORIZED' });
  await assert.rejects(agent.call('_acpd/usage', { sessionId: 'none', since: -1 }), (e) => e.data.reason === 'FIELD_OUT_OF_RANGE');
  assert.equal((await daemon.status()).state, 'ready');
  assert.ok((await daemon.info()).features.events);
  assert.ok((await daemon.sessions()).sessions.length > 0);
});

test('a daemon is claimed by the access token of its sandbox', async (t) => {
  const access = 'access-token-of-the-sandbox';
  const accessTokenHash = crypto.createHash('sha512').update(access).digest('hex');
  const service = http.createServer((req, res) => res.end(req.method === 'PUT' ? 'token' : JSON.stringify({ instanceID: 'sandbox-1', accessTokenHash })));

  await new Promise((resolve) => { service.listen(0, '127.0.0.1', resolve); });
  t.after(() => service.close());
  await withDaemon({ token: null, flags: { claimE2b: true, metadataUrl: `http://127.0.0.1:${service.address().port}` } }, async (own) => {
    const token = crypto.randomBytes(32).toString('base64url');
    const mine = new AcpdClient({ url: `http://127.0.0.1:${own.port}`, headers: { authorization: `Bearer ${token}` } });

    await assert.rejects(mine.info(), { status: 503, reason: 'UNCLAIMED' });
    await assert.rejects(mine.claim('another token'), { status: 403, reason: 'CLAIM_NOT_VERIFIED' });
    await mine.claim(access, { settings: { 'session-max': 4 } });
    assert.equal((await mine.info()).limits.sessions, 4);
    assert.match(await digestOf(token), /^sha256:[0-9a-f]{64}$/);
  });
});

// SPDX-License-Identifier: Apache-2.0
// acpd bundle rerun with an agent whose model calls are commands of its prompts: what it refuses, what of a recorded call comes
// back, and what it says when the two runs differ. The real harnesses are in tests/harness/rerun.test.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fetchBundle, linesOf, pack, unpack } from '../../lib/bundles.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { RawOrchestrator } from '../../lib/mcp-orchestrators.mjs';
import { newCwd, upload } from '../../lib/workspace.mjs';
import { until } from '../../lib/wait.mjs';
import { acpd } from '../run.mjs';

const KEY = 'sk-provider-0123456789';
const BIG = 900 * 1024; // more than three windows of 256 KiB
const SETTINGS = { flags: { recordModel: true }, harnesses: [STUB_WITH_PROVIDER] };

// node caller.mjs WORD [MESSAGES]: a call of the session's provider; says how it was answered.
const CALLER = `
import crypto from 'node:crypto';
const [word, n = '1'] = process.argv.slice(2);
const messages = Array.from({ length: Number(n) }, () => ({ role: 'user', content: word }));
const from = { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.COPILOT_PROVIDER_API_KEY };
let size = 0, sum = crypto.createHash('sha256'), said = 'no answer';
try {
  const res = await fetch(process.env.COPILOT_PROVIDER_BASE_URL + '/chat/completions', { method: 'POST', headers: from,
    body: JSON.stringify({ model: 'stub-small', stream: true, messages }) });
  said = res.status + ' ' + (res.headers.get('x-request-id') ?? '');
  for await (const piece of res.body) {
    size += piece.length;
    sum.update(piece);
    if (word === 'leave') {
      console.log(said + ' left ' + size);
      process.exit();
    }
  }
  said += ' whole ' + size + ' ' + sum.digest('hex').slice(0, 16);
} catch {
  said += ' cut ' + size;
}
console.log(said);
`;

// What the provider of the recorded runs answers to a word.
const ANSWERS = {
  ok: (res) => res.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req-7' }).end('data: {"choices":[]}\n\ndata: [DONE]\n\n'),
  busy: (res) => res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' }).end('{"error":{"message":"later"}}'),
  bytes: (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(Buffer.from([0xff, 0x00, 0x31, 0xe2])),
  big: (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: é{}\n\n'.repeat(BIG / 12)),
  empty: (res) => res.writeHead(200, { 'content-type': 'application/json' }).end(),
  odd: (res) => res.writeHead(204).end(), // no harness is given such a status
  cut: (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: half', () => res.socket.resetAndDestroy()),
  dead: (res) => res.socket.resetAndDestroy(),
  leave: (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: begun\n\n'),
  hang: (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: begun\n\n'),
};

let d, c, caller, here, file, members;
const asked = [];

async function startProvider() {
  const server = http.createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray());
    const word = JSON.parse(body).messages[0].content;

    asked.push(word);
    ANSWERS[word](res);
  });

  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { baseUrl: `http://127.0.0.1:${server.address().port}/v1`, end: () => (server.closeAllConnections(), new Promise((resolve) => { server.close(resolve); })) };
}

const calls = (...words) => words.map((w) => `run ${process.execPath} ${caller} ${w}`).join(';');

// A session of these prompts at a provider, which is gone afterwards. during: what the test does meanwhile. -> its bundle's members
async function record(prompts, { meta = {}, more = {}, during = [], of = d, client = c } = {}) {
  const provider = await startProvider();
  const { sessionId } = await client.newSession({ ...more, meta: { harness: STUB_WITH_PROVIDER.id, ...meta, provider: { api: 'openai-chat', key: KEY, baseUrl: provider.baseUrl } } });

  for (const [i, text] of prompts.entries()) {
    const turn = client.prompt(sessionId, text).catch((e) => e);

    await during[i]?.(sessionId);
    await turn;
  }
  const { bytes } = await fetchBundle(of, sessionId);

  await client.call('session/delete', { sessionId });
  await provider.end();
  return unpack(bytes, of.dir);
}

function write(what) {
  fs.writeFileSync(file, Buffer.isBuffer(what) ? what : pack(what));
  return file;
}

function rerun(what, { args = ['--json'], url = d.url, token = d.tokenFile, ...more } = {}) {
  return acpd(['bundle', 'rerun', write(what), '--url', url, '--token-file', token, ...args], { clean: true, timeout: 60000, cwd: here, ...more });
}

const ofTurn = (list, turn) => list.filter((l) => l.turnId === turn && l.kind === 'message').map((l) => l.content.text).join('');
const saidBy = (what, turn = 1) => ofTurn(linesOf(what['events.ndjson']), turn);
const lines = (list) => list.map((l) => `${typeof l === 'string' ? l : JSON.stringify(l)}\n`).join('');
const changed = (what, member, fn) => ({ ...what, [member]: lines(fn(linesOf(what[member]))) });
const withCalls = (fn) => changed(members, 'model/calls.ndjson', fn);
const without = (what, name) => Object.fromEntries(Object.entries(what).filter(([n]) => n !== name));

before(async () => {
  d = await Daemon.start(SETTINGS);
  c = await d.client();
  here = newCwd(d);
  caller = path.join(d.dir, 'caller.mjs');
  file = path.join(d.dir, 'run.tar.zst');
  fs.writeFileSync(caller, CALLER);
  members = await record([calls('ok')]);
});
after(() => endInOrder(d, c, () => assert.deepEqual(fs.readdirSync(here), [], 'nothing was done where the command was called')));

describe('what is no run to be made again', () => {
  const first = (type) => (list) => list.filter((l) => l.type !== type);
  const set = (type, more) => (list) => list.map((l) => (l.type === type ? { ...l, ...more } : l));
  const line = (n) => new RegExp(`BUNDLE_INVALID: model/calls\\.ndjson, line ${n}\\b`);
  const damage = {
    'a line that is no JSON': [(list) => ['{"type":"requ', ...list], line(1)],
    'a line that is no object': [(list) => [...list, '7'], line(5)],
    'an empty line': [(list) => ['', ...list], line(1)],
    'a piece of a call that never began': [first('request'), line(1)],
    'a line of another call': [(list) => [...list, { ...list[1], call: 'model-call:other' }], line(5)],
    'a call that begins twice': [(list) => [list[0], ...list], line(2)],
    'an answer that begins twice': [(list) => [list[0], list[1], ...list.slice(1)], line(3)],
    'an answer that goes on before its head': [(list) => [list[0], list[2], list[1], list[3]], line(2)],
    'an answer that goes on after its end': [(list) => [...list, list[2]], line(5)],
    'a call that ends twice': [(list) => [...list, list[3]], line(5)],
    'a request without an API': [set('request', { api: undefined }), line(1)],
    'a request without a path': [set('request', { path: 7 }), line(1)],
    'a status that is none': [set('head', { status: 42 }), line(2)],
    'a head without headers': [set('head', { headers: [] }), line(2)],
    'a piece that is no base64': [set('data', { text: undefined, b64: '!' }), line(3)],
    'a piece of nothing': [set('data', { text: undefined }), line(3)],
    'an end of another kind': [set('end', { how: 'well' }), line(4)],
    'a line of another kind': [set('end', { type: 'coda' }), line(4)],
  };

  for (const [what, [fn, says]] of Object.entries(damage))
    test(what, async () => {
      const { code, stderr, stdout } = await rerun(withCalls(fn));

      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, says);
    });

  const of = (events) => changed(members, 'events.ndjson', (list) => list.filter(events));
  const refusals = {
    'without a recording': [() => without(members, 'model/calls.ndjson'), 1, /NOT_RECORDED: .*--record-model/],
    'of a recording without a call': [() => withCalls(() => []), 1, /NOT_RECORDED/],
    'of one that was stopped before its first call': [() => withCalls(() => [{ type: 'stopped', reason: 'RECORD_MAX' }]), 1, /NOT_RECORDED: .*RECORD_MAX/],
    'without a prompt': [() => of((l) => l.kind !== 'prompt'), 1, /NO_PROMPT/],
    'whose session.json is none': [() => ({ ...members, 'session.json': '[]' }), 1, /^acpd: BUNDLE_INVALID: session\.json\n$/],
    'whose session has no harness': [() => ({ ...members, 'session.json': '{"cwd":"/"}' }), 1, /^acpd: BUNDLE_INVALID: session\.json\n$/],
    'of an event that is none': [() => changed(members, 'events.ndjson', (list) => [...list, '{"kind":']), 1, /BUNDLE_INVALID: events\.ndjson, line \d/],
    'of a bundle that was changed': [() => pack(members, { change: (m) => ({ ...m, files: m.files.map((f) => ({ ...f, sha256: '0'.repeat(64) })) }) }), 3, /BUNDLE_TAMPERED/],
    'of a newer bundle': [() => pack(members, { change: (m) => ({ ...m, version: 2 }) }), 3, /BUNDLE_VERSION/],
    'of a file that is no bundle': [() => Buffer.from('no archive'), 3, /ARCHIVE|FORMAT|BUNDLE/],
    'with a harness that is not there': [() => ({ ...members, 'session.json': JSON.stringify({ ...JSON.parse(members['session.json']), harness: 'other' }) }), 1, /session\/new: HARNESS_UNKNOWN: /],
  };

  for (const [what, [make, code, says]] of Object.entries(refusals))
    test(what, async () => {
      const got = await rerun(make());

      assert.deepEqual([got.code, got.stdout], [code, ''], got.stderr);
      assert.match(got.stderr, says);
    });

  test('no daemon, or another token', async () => {
    const none = await rerun(members, { url: 'ws://127.0.0.1:9/acp' });
    const wrong = path.join(d.dir, 'wrong');

    fs.writeFileSync(wrong, 'not-the-token\n');
    assert.deepEqual([none.code, none.stdout], [6, '']);
    const refused = await rerun(members, { token: wrong });
    assert.deepEqual([refused.code, refused.stdout], [6, '']);
    assert.match(refused.stderr, /401|token/);
    assert.equal((await rerun(members, { args: ['--speed', '2'] })).code, 2);
  });
});

describe('a recorded call comes back as it was', () => {
  // One run of all of them: the words of the calls say in the comparison's text which one is meant.
  const WORDS = ['ok', 'busy', 'bytes', 'big', 'empty', 'odd', 'cut', 'dead', 'leave'];
  let run;

  before(async () => {
    run = await record([calls(...WORDS), calls('big')]);
  });

  test('whole, refused, of any bytes, larger than the window, without a body, cut, failed, and given up', async () => {
    const heard = saidBy(run).split('\n').filter(Boolean).map((l) => l.replace(/run:0:|[0-9a-f]{16}$/g, '').trim());
    const n = asked.length;

    assert.deepEqual(heard.map((l) => l.replace(/\d+ *$/, '').trim()), ['200 req-7 whole', '429  whole', '200  whole', '200  whole', '200  whole', '502  whole', '200  cut', '502  whole', '200  left']);
    const ends = linesOf(run['model/calls.ndjson']).filter((l) => l.type === 'end').map((l) => l.reason ?? l.how);
    assert.deepEqual(ends.slice(0, 9).sort(), ['MODEL_CALL_FAILED', 'MODEL_CALL_FAILED', 'MODEL_UNREACHABLE', 'cancelled', 'complete', 'complete', 'complete', 'complete', 'complete']);
    const { code, stdout, stderr } = await rerun(run);

    assert.equal(code, 0, stderr + stdout);
    assert.deepEqual(JSON.parse(stdout), { same: true, turns: [1, 2].map((turn) => ({ turn, stopReason: 'end_turn', same: true })),
      modelCalls: { recorded: 10, answered: 10, alike: 0, notRecorded: 0, notMade: 0 }, workspace: { compared: false, reason: 'NO_BASELINE' } });
    assert.equal(asked.length, n, 'no provider was asked');
    assert.match(saidBy(run, 2), /whole 9\d{5} /);
  });

  test('for people, in words', async () => {
    const { code, stdout } = await rerun(members, { args: [] });

    assert.deepEqual([code, stdout], [0, 'the workspaces were not compared: NO_BASELINE\nthe run is the same: 1 of 1 turns, 1 of 1 model calls from the recording\n']);
  });

  test('a provider that could not be reached', async () => {
    const baseUrl = 'http://127.0.0.1:9/v1';
    const { sessionId } = await c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: 'openai-chat', key: KEY, baseUrl } } });

    await c.prompt(sessionId, calls('ok'));
    const { bytes } = await fetchBundle(d, sessionId);
    const unreachable = unpack(bytes, d.dir);
    const { code, stdout } = await rerun(bytes);

    assert.equal(linesOf(unreachable['model/calls.ndjson']).at(-1).reason, 'MODEL_UNREACHABLE');
    assert.equal(code, 0, stdout);
  });

  test('another call is refused, and one that is not made is missed', async () => {
    const few = await record([calls('ok', 'ok 2')]);
    const [one, two] = [...new Set(linesOf(few['model/calls.ndjson']).map((l) => l.call))];
    const less = changed(few, 'model/calls.ndjson', (list) => list.filter((l) => l.call !== two));
    const more = changed(few, 'model/calls.ndjson', (list) => [...list, ...list.filter((l) => l.call === one).map((l) => ({ ...l, call: 'model-call:3' }))]);
    const lacks = await rerun(less), left = await rerun(more);
    const { turns: [turn], ...said } = JSON.parse(lacks.stdout);

    assert.equal(lacks.code, 1);
    assert.deepEqual(said, { same: false, modelCalls: { recorded: 1, answered: 1, alike: 0, notRecorded: 1, notMade: 0 }, workspace: { compared: false, reason: 'NO_BASELINE' } });
    assert.deepEqual([turn.same, turn.textWas], [false, saidBy(few)]);
    assert.match(turn.text, /400 {2}whole/);
    assert.equal(left.code, 1);
    assert.deepEqual(JSON.parse(left.stdout).modelCalls, { recorded: 3, answered: 2, alike: 0, notRecorded: 0, notMade: 1 });
    const { stdout } = await rerun(less, { args: [] });
    assert.equal(stdout, 'turn 1: the agent said something else\nCALL_NOT_RECORDED: 1 model calls\nthe workspaces were not compared: NO_BASELINE\nthe run differs: 0 of 1 turns, 1 of 1 model calls from the recording\n');
  });

  test('of a recording that was stopped: whole calls, and the one that is not is cut', async (t) => {
    const own = await Daemon.start({ ...SETTINGS, flags: { recordModel: true, recordMax: 128 * 1024 } });
    const client = await own.client();
    t.after(() => endInOrder(own, client));
    const short = await record([calls('ok', 'big')], { of: own, client });
    const { code, stdout } = await rerun(short);
    const { same, turns: [turn], modelCalls } = JSON.parse(stdout);

    assert.deepEqual(JSON.parse(short['manifest.json']).recorded, { stopped: 'RECORD_MAX' });
    assert.deepEqual([code, same, modelCalls], [1, false, { recorded: 2, answered: 2, alike: 0, notRecorded: 0, notMade: 0, stopped: 'RECORD_MAX' }]);
    assert.match(turn.text, /run:0:200 req-7 whole 36 [0-9a-f]{16}\nrun:0:200 {2}cut \d+\n$/);
    assert.match(turn.textWas, /whole 9\d{5} /);
  });
});

describe('its turns', () => {
  test('one that was cancelled is cancelled again; one that failed fails again', async () => {
    const hang = `run ${process.execPath} ${caller} hang >/dev/null 2>\&1 \& echo $! >${d.dir}/pid; echo it is on; sleep 600000`;
    const run = await record([calls('ok'), hang, `run kill $(cat ${d.dir}/pid); while kill -0 $(cat ${d.dir}/pid); do sleep 0.01; done`, 'error -32603 no'], { during: [undefined, async (sessionId) => {
      await until(() => asked.at(-1) === 'hang' && c.updates.some((u) => u.sessionId === sessionId && u.update.content?.text?.includes('it is on')));
      c.notify('session/cancel', { sessionId });
    }] });
    const { code, stdout, stderr } = await rerun(run);
    const { turns, modelCalls } = JSON.parse(stdout || '{}');

    assert.equal(code, 0, stderr + stdout);
    assert.deepEqual(turns.map((x) => [x.turn, x.stopReason, x.error, x.same]), [[1, 'end_turn', undefined, true], [2, 'cancelled', undefined, true], [3, 'end_turn', undefined, true], [4, undefined, 'harness_error', true]]);
    assert.deepEqual([modelCalls.recorded, modelCalls.answered], [2, 2]);
  });

  test('one that was cancelled while a command ran, without a model call, is cancelled again', async () => {
    const run = await record([calls('ok'), 'run echo it is on; sleep 600000'], { during: [undefined, async (sessionId) => {
      await until(() => c.updates.some((u) => u.sessionId === sessionId && u.update.content?.text?.includes('it is on')));
      c.notify('session/cancel', { sessionId });
    }] });
    const { code, stdout, stderr } = await rerun(run);

    assert.equal(code, 0, stderr + stdout);
    assert.deepEqual(JSON.parse(stdout).turns.map((x) => [x.stopReason, x.same]), [['end_turn', true], ['cancelled', true]]);
  });

  test('questions are answered as they were', async () => {
    const answers = ['allow', 'reject', undefined, 'always'];

    c.onRequest('session/request_permission', () => {
      const optionId = answers.shift();

      return { outcome: optionId ? { outcome: 'selected', optionId } : { outcome: 'cancelled' } };
    });
    const run = await record([`perm a; perm b; ${calls('ok')}; perm c; perm d`]);
    const { code, stdout } = await rerun(run);

    assert.match(saidBy(run), /permission:allow.*permission:reject.*permission:cancelled.*permission:allow/s);
    assert.equal(code, 0, stdout);
  });
});

describe('the workspace', () => {
  let run;

  before(async () => {
    const archive = await upload(d, { 'a.txt': 'one\n' });

    run = await record([`write a.txt two\\n; write b.txt new\\n; ${calls('ok')}`, 'write a.txt three\\n'], { meta: { workspace: { archive, ephemeral: true } } });
  });
  const stateOf = (what) => JSON.parse(what['session.json']).workspace.state;

  test('is the same when the same was changed in it', async () => {
    const { code, stdout, stderr } = await rerun(run);
    const { same, workspace } = JSON.parse(stdout || '{}');

    assert.match(stateOf(run), /^[0-9a-f]{64}$/);
    assert.deepEqual([code, same, workspace], [0, true, { compared: true, same: true, state: stateOf(run), stateWas: stateOf(run) }], stderr);
    assert.match((await rerun(run, { args: [] })).stdout, /^the run is the same: 2 of 2 turns/);
  });

  test('differs when something else was: a difference of its own', async () => {
    const other = changed(run, 'events.ndjson', (list) => list.map((l) => (l.kind === 'prompt' && l.content.text.includes('three') ? { ...l, content: { type: 'text', text: 'write a.txt four\\n' } } : l)));
    const { code, stdout } = await rerun(other);
    const { same, turns, workspace } = JSON.parse(stdout);

    assert.deepEqual([code, same, turns.map((x) => x.same), workspace.compared, workspace.same, workspace.stateWas], [1, false, [true, true], true, false, stateOf(run)]);
    assert.notEqual(workspace.state, stateOf(run));
    assert.match((await rerun(other, { args: [] })).stdout, /^the workspace differs\nthe run differs: 2 of 2 turns/);
  });

  test('is not compared where something was left out of it: of that only times are known', async () => {
    const session = JSON.parse(run['session.json']);
    const { code, stdout } = await rerun({ ...run, 'session.json': JSON.stringify({ ...session, workspace: { ...session.workspace, omittedTotal: 1 } }) });

    assert.deepEqual([code, JSON.parse(stdout).workspace], [0, { compared: false, reason: 'OMITTED' }]);
  });

  test('differs in a directory that had something else in it', async () => {
    const cwd = newCwd(d);

    fs.writeFileSync(path.join(cwd, 'a.txt'), 'three\n');
    const { code, stdout } = await rerun(run, { args: ['--cwd', cwd, '--json'] });

    assert.deepEqual([code, JSON.parse(stdout).workspace.same], [1, false]);
  });
});

test('the built-in tools are there again, other servers are not: they are named', async () => {
  const { client: o } = await RawOrchestrator.connect(d);
  const run = await record([calls('ok')], { client: o, more: { mcpServers: [{ type: 'acp', name: 'shop', serverId: 'shop:1' }] }, meta: { mcp: { builtin: true } } });
  const ids = async () => (await c.call('session/list', {})).sessions.map((x) => x.sessionId);
  const before = await ids();
  const { code, stdout, stderr } = await rerun(run, { args: ['--keep', '--json'] });
  const [again] = (await ids()).filter((id) => !before.includes(id));
  const { settings } = JSON.parse(unpack((await fetchBundle(d, again)).bytes, d.dir)['session.json']);

  await o.close();
  await c.call('session/delete', { sessionId: again });
  assert.equal(code, 0, stderr + stdout);
  assert.deepEqual([JSON.parse(stdout).serversLeftOut, settings.mcp], [['shop'], { builtin: true }]);
  assert.match((await rerun(run, { args: [] })).stdout, /^MCP servers that are not taken over: "shop"$/m);
});

describe('its session', () => {
  const sessions = async () => (await c.call('session/list', {})).sessions.map((s) => s.sessionId).sort();

  test('is deleted, or kept and closed with --keep', async () => {
    const before = await sessions();
    const kept = await rerun(members, { args: ['--keep', '--json'] });
    const now = (await sessions()).filter((id) => !before.includes(id));

    assert.deepEqual([kept.code, now.length], [0, 1]);
    assert.equal((await c.call('_acpd/status', { sessionId: now[0] })).sessions[0].state, 'closed');
    assert.match((await c.call('session/list', {})).sessions.find((s) => s.sessionId === now[0]).cwd, new RegExp(`^${d.wsDir}/`), 'a workspace of its own');
    await c.call('session/delete', { sessionId: now[0] });
    assert.equal((await rerun(members)).code, 0);
    assert.deepEqual(await sessions(), before);
  });

  test('is deleted by a signal', async () => {
    const run = changed(members, 'events.ndjson', (list) => list.map((l) => (l.kind === 'prompt' ? { ...l, content: { type: 'text', text: 'echo here; sleep 600000' } } : l)));
    const before = await sessions();
    let child;
    const done = rerun(run, { started: (p) => { child = p; } });

    await until(async () => (await sessions()).length > before.length, 'the session of the rerun');
    child.kill('SIGINT');
    assert.deepEqual([(await done).code, await sessions()], [5, before]);
  });

  test('goes with the daemon: it says that the run was not made', async (t) => {
    const own = await Daemon.start(SETTINGS);
    t.after(() => own.discard());
    const run = changed(members, 'events.ndjson', (list) => list.map((l) => (l.kind === 'prompt' ? { ...l, content: { type: 'text', text: 'echo here; sleep 600000' } } : l)));
    const watch = await own.client();
    const done = rerun(run, { url: own.url, token: own.tokenFile });

    await until(async () => (await watch.call('session/list', {})).sessions.length > 0, 'the session of the rerun');
    await own.kill9();
    const { code, stdout, stderr } = await done;

    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /connection|closed|ended/);
  });
});

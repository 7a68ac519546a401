// SPDX-License-Identifier: Apache-2.0
// Statements 65-70: client capabilities, extensions, hygiene.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { at, isUpdate, kinds, say, serve } from './rig.mjs';

const rig = serve({ harnesses: [{ id: 'pushy', args: ['--elicit'] }] });
const EVERYTHING = {
  fs: { readTextFile: true, writeTextFile: true }, terminal: true, elicitation: { form: {}, url: {} },
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } }, plan: {}, subagents: {},
};

test('65 fs and terminal are never asked of the client, advertised or not: its files are not the sandbox\'s', async () => {
  for (const caps of [{}, EVERYTHING]) {
    const { c, sessionId } = await rig.session({ init: { caps } });

    for (const step of ['fs', 'fs /etc/passwd', 'ask fs/write_text_file {"path":"/x","content":"y"}',
      'ask terminal/create {"command":"ls"}', 'ask terminal/output {"terminalId":"t"}', 'ask no/such {}', 'ask _private/x {}'])
      assert.match((await say(c, sessionId, step)).text, /^(fs|ask):error -32601$/, step);
    const clientcaps = JSON.parse((await say(c, sessionId, 'clientcaps')).text);
    assert.ok(!clientcaps.terminal && !clientcaps.fs?.readTextFile && !clientcaps.fs?.writeTextFile, 'nor are they promised');
    assert.deepEqual(c.requests, []);
  }
});

test('65 elicitation goes to a client that can, in the mode it announced', async () => {
  const { c, sessionId } = await rig.session({ init: { caps: { elicitation: { form: {} } } } });

  c.onRequest('elicitation/create', () => ({ action: 'accept', content: { branch: 'dev' } }));
  const { text } = await say(c, sessionId, 'elicit');
  assert.deepEqual(JSON.parse(text.slice('elicit:'.length)), { action: 'accept', content: { branch: 'dev' } });
  const { params } = c.requests[0];
  assert.deepEqual([params.sessionId, params.mode], [sessionId, 'form']);
});

test('65 elicitation never goes to a client that cannot', async () => {
  for (const harness of ['stub', 'pushy']) {
    const { c, sessionId } = await rig.session({ init: { caps: {} }, meta: { harness } });

    assert.match((await say(c, sessionId, 'elicit')).text, /^elicit:(unavailable|error -32601)$/);
    assert.deepEqual(c.requests, []);
  }
});

test('65 a later client of the session that cannot is not asked either', async () => {
  const { sessionId } = await rig.session({ init: { caps: { elicitation: { form: {} } } } });
  const plain = await rig.client({ init: { caps: {} } });

  await plain.load(sessionId);
  assert.equal((await say(plain, sessionId, 'elicit')).text, 'elicit:{"action":"cancel"}');
  assert.deepEqual(plain.requests, []);
});

test('65 elicitation in a mode that was not announced is not put to the client', async () => {
  const { c, sessionId } = await rig.session({ init: { caps: { elicitation: { form: {} } } } });
  const url = { mode: 'url', message: 'Sign in', elicitationId: 'e1', url: 'https://example.com/x' };
  const { text } = await say(c, sessionId, `ask elicitation/create ${JSON.stringify(url)}`);

  assert.match(text, /^ask:(error -\d+|\{"action":"(cancel|decline)"\})$/);
  assert.deepEqual(c.requests, []);
});

// The updates that need an announcement, and the directive that makes the stub send them.
const GATED = {
  notice: ['notice'], compaction: ['compaction_update', 'compaction_summary_chunk'],
  planupdate: ['plan_update', 'plan_removed'], subagent: ['subagent_update'],
};

test('66 notice, compaction, plan and subagent updates are not for clients that did not announce them', async () => {
  const { c, sessionId } = await rig.session({ init: { caps: {} } });

  await c.prompt(sessionId, `${Object.keys(GATED).join('\n')}\necho end`);
  assert.deepEqual(kinds(c.updatesOf(sessionId)).filter((k) => !/commands|usage/.test(k)), ['agent_message_chunk']);
  const able = await rig.client({ init: { caps: EVERYTHING } });
  await able.load(sessionId);
  const plain = await rig.client({ init: { caps: {} } });
  await plain.load(sessionId);
  const gated = Object.values(GATED).flat();
  assert.deepEqual(kinds(plain.updates).filter((k) => gated.includes(k)), [], 'nor when they are replayed');
});

test('66 they reach clients that did', async () => {
  const { c, sessionId } = await rig.session({ init: { caps: EVERYTHING } });

  for (const [step, wanted] of Object.entries(GATED)) {
    const from = c.updates.length;

    await c.prompt(sessionId, `${step}\necho end`);
    const got = kinds(c.updates.slice(from));
    assert.ok(got.includes(wanted[0]), `${step}: ${got}`);
    assert.ok(got.every((k) => wanted.includes(k) || ['agent_message_chunk', 'tool_call', 'tool_call_update'].includes(k)));
  }
  assert.ok(c.updates.every((u) => u.sessionId === sessionId), 'nothing under an id of the harness');
  const other = await rig.client({ init: { caps: EVERYTHING } });
  await other.load(sessionId);
  assert.deepEqual(other.updatesOf(sessionId, 'notice'), [], 'a notice is news, not history');
});

test('66 an update that no schema knows is no update for clients', async () => {
  const { c, sessionId } = await rig.session({ init: { caps: EVERYTHING } });

  assert.equal((await say(c, sessionId, 'unknownupdate\necho end')).text, 'end');
  assert.deepEqual(kinds(c.updatesOf(sessionId)).filter((k) => !/commands|usage/.test(k)), ['agent_message_chunk']);
});

test('67 _meta is accepted everywhere, and trace context reaches the harness', async () => {
  const _meta = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b', 'x.y/z': { deep: [1] } };
  const c = await rig.connect();

  await c.call('initialize', { protocolVersion: 1, clientInfo: { name: 'x', version: '1', _meta }, clientCapabilities: { _meta }, _meta });
  const { sessionId } = await c.newSession({ _meta });
  const prompt = [{ type: 'text', text: 'meta', _meta }];
  const from = c.updates.length;
  await c.call('session/prompt', { sessionId, prompt, _meta: { ..._meta, acpd: { key: 'k1' } } });
  assert.deepEqual(JSON.parse(c.chunks(sessionId, from).join('')), _meta, 'all but our own member is handed on');
  for (const [method, params] of [['session/list', {}], ['session/set_mode', { sessionId, modeId: 'code' }],
    ['session/set_config_option', { sessionId, configId: 'model', value: 'stub-large' }],
    ['session/load', { sessionId, cwd: rig.d.workDir, mcpServers: [] }],
    ['session/resume', { sessionId, cwd: rig.d.workDir }], ['session/close', { sessionId }], ['session/delete', { sessionId }]])
    assert.ok(await c.call(method, { ...params, _meta }), method);
});

test('67 malformed _meta is as good as none', async () => {
  const c = await rig.client();

  for (const _meta of [null, 5, 'x', [], { acpd: null }]) {
    const { sessionId } = await c.call('session/new', { cwd: rig.d.workDir, mcpServers: [], _meta });

    assert.equal((await c.call('session/prompt', { ...c.promptParams(sessionId, 'echo x'), _meta })).stopReason, 'end_turn');
  }
});

test('67 what a harness adds to an update beside the schema is not handed on', async () => {
  const { c, sessionId } = await rig.session();
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x' }, _meta: { vendor: 1 } };

  await c.prompt(sessionId, `update ${JSON.stringify(update)}`);
  const [got] = c.updatesOf(sessionId, 'agent_message_chunk');
  assert.deepEqual(got.update, update);
  const line = { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'x', update, extra: 1 }, extra: 2 };
  await c.prompt(sessionId, `raw ${JSON.stringify(line)}\necho end`); // envelope and params are ours: checked by the library
});

test('68 paths are absolute, lines begin at 1, times are ISO 8601', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'tool t1 read x\nwrite out.txt hello\ntitle Time\necho x');
  const paths = JSON.stringify(c.updatesOf(sessionId)).match(/"path":"[^"]*"/g);
  assert.ok(paths.length >= 2 && paths.every((p) => p.startsWith('"path":"/')), String(paths));
  const [info] = c.updatesOf(sessionId, 'session_info_update');
  assert.ok(!Number.isNaN(Date.parse(info.update.updatedAt)));
  const { sessions } = await c.call('session/list');
  const mine = sessions.find((s) => s.sessionId === sessionId);
  assert.ok(Math.abs(Date.parse(mine.updatedAt) - Date.now()) < 60000);
});

// Everything that can be answered with an error, once.
async function provoke(c, sessionId) {
  const errors = [];
  const note = async (method, params) => {
    const e = await c.fails(method, params);

    assert.ok([undefined, params.sessionId].includes(e.data.sessionId), `a session id from nowhere: ${JSON.stringify(e.data)}`);
    errors.push(e);
  };

  await note('no/such', {});
  await note('session/new', { cwd: 'rel', mcpServers: [] });
  await note('session/new', { cwd: rig.d.workDir, mcpServers: [{ name: 'x\ny' }] });
  await note('session/new', { cwd: `/no/${'long\n'.repeat(700)}`, mcpServers: [] });
  await note('session/new', { cwd: rig.d.workDir, mcpServers: [], _meta: { acpd: { ['k\n'.repeat(40)]: 1 } } });
  await note('session/load', { sessionId: 'a\nb\u2028c', cwd: '/', mcpServers: [] });
  await note('session/prompt', { sessionId, prompt: [{ type: 'li\nes' }] });
  await note('session/prompt', c.promptParams(sessionId, 'echo x\nerror -32603 first\\nsecond line'));
  await note('session/prompt', c.promptParams(sessionId, `echo x\nerror -32603 ${'ü'.repeat(600)}`));
  await note('session/prompt', c.promptParams(sessionId, 'echo x\nbadjson'));
  await note('session/prompt', c.promptParams(sessionId, 'stderr panic at main.c:12\ncrash exit 9'));
  return errors;
}

test('69 errors: an integer code, one sentence without line breaks, no secret, no stack trace', async () => {
  const { c, sessionId } = await rig.session({ meta: { env: { STUB_SECRET: 'marker-0123456789-secret' } } });
  const errors = await provoke(c, sessionId);

  errors.push(await c.fails('session/prompt', c.promptParams(sessionId, 'stderr marker-0123456789-secret\ncrash exit 1')));
  for (const e of errors) {
    const all = JSON.stringify([e.rpcMessage, e.data]);

    assert.ok(Number.isInteger(e.code));
    assert.ok(e.code <= -32000 && e.code >= -32899, `a code of JSON-RPC or ACP: ${e.code}`);
    assert.match(e.rpcMessage, /^[^\r\n\u2028\u2029]{3,300}$/u);
    assert.ok(!all.includes('\ufffd'), `text was cut inside a character: ${all}`);
    assert.doesNotMatch(all, /\.[ch]:\d+|\bat 0x|0x[0-9a-f]{6,}|Traceback|panic/);
    assert.ok(!all.includes(rig.d.token) && !all.includes('marker-0123456789'), all);
  }
  assert.equal((await say(c, sessionId, 'echo alive')).text, 'alive');
});

test('70 a token in a URL is in no log line, and neither is one in a header', async () => {
  const d = await Daemon.start({ flags: { log: 'debug', allowQueryToken: true } });
  const secret = `wrong-${'w'.repeat(30)}`;

  try {
    for (const opts of [{ path: `/acp?token=${d.token}`, token: null }, { path: `/acp?token=${secret}`, token: null }, { token: secret },
      { token: null, protocols: ['acp.v1', `acpd.bearer.${Buffer.from(secret).toString('base64url')}`] }])
      (await d.ws(opts)).destroy();
    await d.http(`/ready?token=${secret}`);
    await d.http(`/nowhere?token=${d.token}`);
    const c = await d.client();
    await c.prompt((await c.newSession()).sessionId, 'echo x');
    await c.close();
    await d.stop(); // asserts that the token is not in the logs
    for (const word of [secret, Buffer.from(secret).toString('base64url')])
      assert.ok(!d.stderr.includes(word) && !d.stdout.includes(word), 'a wrong token was logged');
  } finally {
    await d.discard();
  }
});

test('70 the connection id is no credential', async () => {
  const c = await rig.client();
  const id = c.ws.headers['acp-connection-id'];
  const { sessionId } = await c.newSession();

  for (const opts of [{ token: id }, { token: null, headers: { 'Acp-Connection-Id': id } }, { token: null, path: `/acp?token=${id}` },
    { token: null, headers: { 'Acp-Session-Id': sessionId, Cookie: `acp=${id}` } }, { token: sessionId }]) {
    const ws = await rig.d.ws(opts);

    assert.equal(ws.status, 401);
    ws.destroy();
  }
});

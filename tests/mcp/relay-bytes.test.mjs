// SPDX-License-Identifier: Apache-2.0
// What a relay must preserve, byte for byte and in both directions: a raw client on the shim, a raw orchestrator on the WebSocket, and
// between them everything that is ours. Texts are compared, never parsed values: 1.0 is not 1. What is not preserved is half of a
// surrogate pair, which many readers cannot parse: integration/text.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { LEGACY, META, MODERN, member, without } from '../lib/mcp.mjs';
import { ERAS, LEGACY_ERAS, openClient, openRelay } from '../lib/mcp-relay.mjs';
import { until } from '../lib/wait.mjs';

// Everything that a decoder would change.
const ODD = '{"big":9007199254740993,"huge":123456789012345678901234567890,"one":1.0,"exp":1E+2,"tiny":1e-400,"minus":-0,' +
  '"null":null,"pair":"\\ud83d\\ude00","slash":"\\/","both":"\\u00e9é","nul":"a\\u0000b","":"","z":{"b":1,"a":[2.50]},' +
  '"spaced" : [ 1 , { } ],"__proto__":{"x":1},"constructor":null,"line\\nend":"\\r\\n\\t"}';
const TRACE = '"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=1,b=2","baggage":"k=v;p=1"';

let daemon;
before(async () => { daemon = await Daemon.start(); });
after(() => endInOrder(daemon));

const relay = (t, opts) => openRelay(t, daemon, opts);
const calling = (answer, more = {}) => ({ ...more, 'tools/call': answer });
const call = (c, args, meta = '') => c.request('tools/call', `{"name":"raw","arguments":${args},"_meta":{${metaText(c, meta)}}}`);
const lines = (raw) => raw.split(/[\r\n]/).length;

function metaText(c, more) {
  const own = c.modern ? JSON.stringify(c.meta()).slice(1, -1) : '';

  return [own, more].filter(Boolean).join(',');
}

// What the client gets of a result: a legacy one without resultType.
const shownTo = (c, result) => (c.modern ? result : without(result, 'resultType'));

for (const era of ERAS) {
  describe(`a client of ${era}`, () => {
    test('arguments and _meta', async (t) => {
      const { o, c } = await relay(t, { era, handlers: calling((call) => call.result('{"resultType":"complete","content":[]}')) });
      const meta = `"progressToken":0,${TRACE},"example.com/own":${ODD},"plain":null`;
      await call(c, ODD, meta);
      const [seen] = o.of('tools/call');

      assert.equal(member(seen.inner, 'arguments'), ODD);
      assert.equal(member(seen.inner, 'name'), '"raw"');
      for (const [key, value] of [['progressToken', '0'], ['example.com/own', ODD], ['plain', 'null'], ['tracestate', '"a=1,b=2"'],
        ['baggage', '"k=v;p=1"'], ['traceparent', '"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"']])
        assert.equal(seen.meta(key), value, key);
      assert.equal(seen.meta(`${META}protocolVersion`), `"${MODERN}"`);
      assert.equal(seen.meta(`${META}clientInfo`), '{"name":"acpd-test","version":"1"}');
      assert.equal(seen.meta(`${META}clientCapabilities`), '{}');
    });

    test('unknown members of params; null and absent', async (t) => {
      const { o, c } = await relay(t, { era, handlers: calling((call) => call.result('{"resultType":"complete","content":[]}')) });
      const meta = metaText(c, '');
      await c.request('tools/call', `{"future":${ODD},"arguments":null,"name":"raw"${meta && `,"_meta":{${meta}}`}}`);
      await c.request('tools/call', `{"name":"raw"${meta && `,"_meta":{${meta}}`}}`);
      const [one, two] = o.of('tools/call');

      assert.equal(member(one.inner, 'future'), ODD);
      assert.equal(member(one.inner, 'arguments'), 'null');
      assert.equal(member(two.inner, 'arguments'), undefined);
    });

    test('a result: order of blocks, annotations, structuredContent, _meta', async (t) => {
      const result = '{"content":[{"type":"text","text":"b","annotations":{"audience":["user"],"priority":0.10}},' +
        '{"type":"resource_link","uri":"x:\\/y","name":"n"},{"type":"text","text":"a","_meta":{"k":1.0}},{"type":"future","own":' + ODD + '}],' +
        `"resultType":"complete","structuredContent":${ODD},"isError":false,"_meta":{${TRACE},"own":${ODD}},"unknown":[null]}`;
      const { c } = await relay(t, { era, handlers: calling((call) => call.result(result)) });
      const { raw } = await call(c, '{}');

      assert.equal(member(raw, 'result'), shownTo(c, result));
    });

    test('a structuredContent that is no object', async (t) => {
      const values = ['[1.0,null]', '"\\ufffd"', '9007199254740993', 'true', 'null'];
      const { c } = await relay(t, { era, handlers: calling((call) =>
        call.result(`{"resultType":"complete","content":[],"structuredContent":${member(call.inner, 'arguments', 'v')}}`)) });

      for (const value of values)
        assert.equal(member((await call(c, `{"v":${value}}`)).raw, 'result', 'structuredContent'), value);
    });

    test('isError stays a result, an error stays an error', async (t) => {
      const failed = `{"content":[{"type":"text","text":"no"}],"isError":true,"structuredContent":{"error":{"code":"X","n":1.0}},"resultType":"complete"}`;
      const error = `{"code":-32055,"message":"its own \\u00e9 \\/","data":${ODD}}`;
      const { c } = await relay(t, { era, handlers: calling((call) =>
        (member(call.inner, 'arguments', 'how') === '"result"' ? call.result(failed) : call.error(error))) });

      assert.equal(member((await call(c, '{"how":"result"}')).raw, 'result'), shownTo(c, failed));
      const { raw } = await call(c, '{"how":"error"}');
      assert.equal(member(raw, 'result'), undefined);
      assert.equal(member(raw, 'error', 'code'), '-32055');
      assert.equal(member(raw, 'error', 'message'), '"its own \\u00e9 \\/"');
      assert.equal(member(raw, 'error', 'data'), ODD);
    });

    test('ids of requests keep their type; each is answered once', async (t) => {
      const { o, c } = await relay(t, { era, handlers: calling((call) => call.result('{"resultType":"complete","content":[]}')) });
      const ids = ['0', '-7', '9007199254740993', '"a"', '"7"', '7', '"\\u00e9\\ud800"', '""'];

      for (const id of ids) {
        const { raw } = await c.request('tools/call', `{"name":"raw","arguments":{},"_meta":{${metaText(c, '')}}}`, { id });
        assert.equal(member(raw, 'id'), id);
      }
      const outer = o.of('tools/call').map((call) => call.msg.params.requestId);
      assert.equal(new Set(outer).size, ids.length);
      assert.equal(c.messages.filter(({ msg }) => 'result' in msg && ids.includes(JSON.stringify(msg.id))).length > 0, true);
    });

    test('two clients may use the same id at the same time', async (t) => {
      const open = [];
      const { c, client } = await relay(t, { era, handlers: calling((call) => open.push(call)) });
      const other = await client();
      const both = [c, other].map((client, i) => client.request('tools/call',
        `{"name":"raw","arguments":{"of":${i}},"_meta":{${metaText(client, '')}}}`, { id: '"same"' }));
      await until(() => open.length === 2);
      for (const call of open.reverse())
        call.result(`{"resultType":"complete","content":[],"structuredContent":${member(call.inner, 'arguments')}}`);

      for (const [i, answer] of both.entries()) {
        const { raw } = await answer;
        assert.equal(member(raw, 'id'), '"same"');
        assert.equal(member(raw, 'result', 'structuredContent'), `{"of":${i}}`);
      }
    });

    test('progress: tokens of every kind, in order, before the result', async (t) => {
      const { c } = await relay(t, { era, handlers: calling((call) => {
        const token = call.meta('progressToken');
        for (const n of ['0', '0.10', '1.0', '9007199254740993'])
          call.notify('notifications/progress', `{"progressToken":${token},"progress":${n},"total":1e3,"message":"\\ufffd","own":${ODD}}`);
        call.result('{"resultType":"complete","content":[]}');
      }) });

      for (const token of ['0', '"t"', '-1', '"0"', '9007199254740993']) {
        const from = c.messages.length;
        await call(c, '{}', `"progressToken":${token}`);
        const came = c.messages.slice(from).map(({ raw }) => raw);
        assert.deepEqual(came.slice(0, -1).map((raw) => member(raw, 'method')), Array(4).fill('"notifications/progress"'));
        assert.deepEqual(came.slice(0, -1).map((raw) => member(raw, 'params')), ['0', '0.10', '1.0', '9007199254740993'].map((n) =>
          `{"progressToken":${token},"progress":${n},"total":1e3,"message":"\\ufffd","own":${ODD}}`));
        assert.ok(member(came.at(-1), 'result'));
      }
    });

    // Strict clients give up the whole connection over it.
    test('progress that no call in flight has asked for does not reach the client', async (t) => {
      const { c } = await relay(t, { era, handlers: calling((call) => {
        const progress = (token) => call.notify('notifications/progress', `{"progressToken":${token},"progress":1}`);
        for (const token of ['"of-the-server"', '7', 'null'])
          progress(token);
        call.result('{"resultType":"complete","content":[]}');
        progress(call.meta('progressToken') ?? '"late"');
      }) });

      for (const asked of ['', '"progressToken":"t"', '"progressToken":""', '"progressToken":7', '"progressToken":7.0', '"progressToken":"of\\u002dthe-server"'])
        await call(c, '{}', asked);
      await call(c, '{}');
      assert.deepEqual(c.notifications('notifications/progress').map(({ raw }) => member(raw, 'params', 'progressToken')), ['7', '7', '"of-the-server"']);
    });

    test('log messages come if they were asked for, with all that is in them', async (t) => {
      const message = `{"level":"info","logger":"l","data":${ODD},"_meta":{"a":1.0}}`;
      const { o, c } = await relay(t, { era, handlers: calling((call) => {
        if (call.meta(`${META}logLevel`))
          call.notify('notifications/message', message);
        call.result('{"resultType":"complete","content":[]}');
      }) });
      if (era === MODERN)
        c.logLevel = 'debug';
      else
        await c.result('logging/setLevel', { level: 'debug' });
      await call(c, '{}');

      assert.equal(o.of('tools/call')[0].meta(`${META}logLevel`), '"debug"');
      assert.equal(o.of('logging/setLevel').length, 0);
      assert.deepEqual(c.notifications('notifications/message').map(({ raw }) => member(raw, 'params')), [message]);
    });

    test('lists: order, unknown members, cursors', async (t) => {
      const cursor = '"b3BhcXVl\\/=\\u003d"';
      const tools = ['z', 'a', 'm'].map((name) => `{"name":"${name}","inputSchema":{"type":"object","properties":{"p":{"x":1.0}},"$defs":{"n":{"minimum":1.0}},"x":${ODD}},` +
        '"annotations":{"readOnlyHint":false,"title":null},"icons":[],"future":1.50}').join(',');
      const { o, c } = await relay(t, { era, handlers: { 'tools/list': (call) =>
        call.result(`{"ttlMs":12345,"cacheScope":"public","tools":[${tools}],"nextCursor":${cursor},"resultType":"complete"}`) } });
      const { raw } = await c.request('tools/list', `{"cursor":${cursor}${c.modern ? `,"_meta":{${metaText(c, '')}}` : ''}}`);

      assert.equal(member(o.of('tools/list')[0].inner, 'cursor'), cursor);
      assert.equal(member(raw, 'result', 'tools'), `[${tools}]`);
      assert.equal(member(raw, 'result', 'nextCursor'), cursor);
      const hints = ['ttlMs', 'cacheScope', 'resultType'].map((key) => member(raw, 'result', key));
      assert.deepEqual(hints, c.modern ? ['12345', '"public"', '"complete"'] : [undefined, undefined, undefined]);
    });

    test('every other request of a server: prompts, resources, completion', async (t) => {
      const methods = ['prompts/list', 'prompts/get', 'resources/list', 'resources/templates/list', 'resources/read', 'completion/complete'];
      const result = `{"own":${ODD},"resultType":"complete"}`;
      const { o, c } = await relay(t, { era, handlers: Object.fromEntries(methods.map((m) => [m, (call) => call.result(result)])) });

      for (const method of methods) {
        const { raw } = await c.request(method, `{"x":${ODD},"name":"n","uri":"u:x"${c.modern ? `,"_meta":{${metaText(c, '')}}` : ''}}`);
        assert.equal(member(o.of(method)[0].inner, 'x'), ODD, method);
        assert.equal(member(raw, 'result'), shownTo(c, result), method);
      }
    });

    test('an image of 4 MiB, and as much in the other direction', async (t) => {
      const data = 'iVBORw0K'.repeat(1 << 19);
      const { o, c } = await relay(t, { era, handlers: calling((call) =>
        call.result(`{"resultType":"complete","content":[{"type":"image","data":"${data}","mimeType":"image/png"}]}`)) });
      const { raw } = await c.request('tools/call', `{"name":"raw","arguments":{"in":"${data}"},"_meta":{${metaText(c, '')}}}`, { timeout: 30000 });

      assert.ok(member(o.of('tools/call')[0].inner, 'arguments', 'in') === `"${data}"`, 'the argument has changed');
      assert.ok(member(raw, 'result', 'content', 0, 'data') === `"${data}"`, 'the image has changed');
    });

    test('line breaks between values do not break lines', async (t) => {
      const { c } = await relay(t, { era, handlers: calling((call) =>
        call.result('{"resultType":"complete",\n"content":[\r\n{"type":"text",\n"text":"a\\nb"}]}')) });
      const { raw, msg } = await call(c, '{}');

      assert.equal(lines(raw), 1);
      assert.deepEqual(msg.result.content, [{ type: 'text', text: 'a\nb' }]);
    });

    test('64 calls at once, answered in the order that the server chooses', async (t) => {
      const open = [];
      const { c } = await relay(t, { era, handlers: calling((call) => open.push(call)) });
      const answers = Array.from({ length: 64 }, (_, i) => call(c, `{"n":${i}}`));
      await until(() => open.length === 64);
      for (const one of open.sort((a, b) => (member(a.inner, 'arguments', 'n') * 37) % 64 - (member(b.inner, 'arguments', 'n') * 37) % 64))
        one.result(`{"resultType":"complete","content":[],"structuredContent":${member(one.inner, 'arguments')}}`);

      for (const [i, answer] of answers.entries())
        assert.equal(member((await answer).raw, 'result', 'structuredContent'), `{"n":${i}}`);
    });

    test('cancellation reaches the orchestrator, and nothing is answered afterwards', async (t) => {
      const { o, c } = await relay(t, { era, handlers: calling(async (call) => {
        await call.cancelled;
        call.outerError('{"code":-32800,"message":"cancelled"}');
      }) });
      const { id } = c.begin('tools/call', `{"name":"raw","arguments":{},"_meta":{${metaText(c, '"progressToken":1')}}}`);
      await until(() => o.of('tools/call').length);
      c.cancel(id);
      const [seen] = o.of('tools/call');
      await seen.cancelled;

      assert.equal(member(o.cancels[0], 'params', 'requestId'), seen.id);
      seen.notify('notifications/progress', '{"progressToken":1,"progress":1}');
      await c.request('tools/list', c.modern ? {} : '{}');
      assert.deepEqual(c.messages.filter(({ raw }) => member(raw, 'id') === id), []);
      assert.equal(o.cancels.length, 1);
    });
  });
}

// --- what only one side of the eras has --------------------------------------------------------

describe('a modern client', () => {
  test('results of other kinds pass: task handles, input_required with its state', async (t) => {
    const task = `{"resultType":"task","taskId":"786512e2","status":"working","createdAt":"2026-07-28T00:00:00Z","ttlMs":60000,"own":${ODD}}`;
    const ask = `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"form","message":"\\ufffd","requestedSchema":${ODD}}}},` +
      '"requestState":"opaque \\u003d\\/ é"}';
    const { o, c } = await relay(t, { era: MODERN, handlers: calling((call) => {
      const how = member(call.inner, 'arguments', 'how');
      call.result(how === '"task"' ? task : member(call.inner, 'requestState') ? '{"resultType":"complete","content":[]}' : ask);
    }, { 'tasks/get': (call) => call.result(task) }) });
    c.capabilities = { elicitation: {} };

    assert.equal(member((await call(c, '{"how":"task"}')).raw, 'result'), task);
    assert.equal(member((await c.request('tasks/get', { taskId: '786512e2' })).raw, 'result'), task);
    assert.equal(member((await call(c, '{}')).raw, 'result'), ask);
    await c.request('tools/call', `{"name":"raw","arguments":{},"inputResponses":{"k":${ODD}},"requestState":"opaque \\u003d\\/ é","_meta":{${metaText(c, '')}}}`);
    const again = o.of('tools/call').at(-1);
    assert.equal(member(again.inner, 'requestState'), '"opaque \\u003d\\/ é"');
    assert.equal(member(again.inner, 'inputResponses'), `{"k":${ODD}}`);
  });

  test('server/discover is the server\'s own', async (t) => {
    const { c } = await relay(t, { era: MODERN, handlers: { 'server/discover': (call) => call.result(
      `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"x":${ODD}},"instructions":"do \\u00e9","ttlMs":5,` +
      `"cacheScope":"public","_meta":{"${META}serverInfo":{"name":"n","version":"1","icons":[{"src":"a:b"}]}}}`) } });
    const { raw } = await c.request('server/discover');

    assert.equal(member(raw, 'result', 'instructions'), '"do \\u00e9"');
    assert.equal(member(raw, 'result', 'capabilities', 'x'), ODD);
    assert.equal(member(raw, 'result', 'ttlMs'), '5');
    assert.equal(member(raw, 'result', '_meta', `${META}serverInfo`), '{"name":"n","version":"1","icons":[{"src":"a:b"}]}');
  });

  test('subscriptions: acknowledged first, tagged with the id of the request', async (t) => {
    const { c } = await relay(t, { era: MODERN, handlers: { 'subscriptions/listen': (call) => {
      call.notify('notifications/subscriptions/acknowledged', '{"notifications":{"toolsListChanged":true}}');
      call.notify('notifications/tools/list_changed', `{"_meta":{"own":${ODD}}}`);
    } } });
    const { id } = c.begin('subscriptions/listen', { notifications: { toolsListChanged: true } }, { id: '"s\\u0031"' });
    const { raw } = await c.waitFor((msg) => msg.method === 'notifications/tools/list_changed');
    const [ack] = c.notifications('notifications/subscriptions/acknowledged');

    assert.equal(c.messages.indexOf(ack), 0);
    for (const text of [ack.raw, raw])
      assert.equal(member(text, 'params', '_meta', `${META}subscriptionId`), id);
    assert.equal(member(raw, 'params', '_meta', 'own'), ODD);
  });
});

for (const era of LEGACY_ERAS) {
  describe(`a legacy client of ${era}`, () => {
    test('initialize: identity and instructions of the server, its capabilities', async (t) => {
      const info = '{"name":"n\\u00e9","title":"T","version":"1.0"}';
      const { c } = await relay(t, { era, handlers: { 'server/discover': (call) => call.result(
        '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"experimental":{"x":1.0}},' +
        `"instructions":"use \\ud83d\\ude00 it","ttlMs":0,"cacheScope":"private","_meta":{"${META}serverInfo":${info}}}`) } });
      const { raw } = c.messages[0];

      assert.equal(member(raw, 'result', 'protocolVersion'), `"${era}"`);
      assert.equal(member(raw, 'result', 'serverInfo'), info);
      assert.equal(member(raw, 'result', 'instructions'), '"use \\ud83d\\ude00 it"');
      assert.equal(member(raw, 'result', 'capabilities', 'tools', 'listChanged'), 'true');
      assert.equal(member(raw, 'result', 'capabilities', 'resources', 'subscribe'), 'true');
      assert.equal(member(raw, 'result', 'capabilities', 'experimental'), '{"x":1.0}');
      assert.equal(member(raw, 'result', 'capabilities', 'prompts'), undefined);
    });

    test('capabilities and name of the client reach the server as they are', async (t) => {
      const { o, c } = await relay(t, { era, setup: (c) => { c.clientInfo = { name: 'ü', version: '1', title: 'T' }; },
        capabilities: { elicitation: { form: {} }, sampling: { tools: {} }, roots: { listChanged: true }, experimental: { k: [1, null] } } });
      await c.request('tools/list', '{}');
      const [seen] = o.of('tools/list');

      assert.equal(seen.meta(`${META}clientCapabilities`), '{"elicitation":{"form":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},"experimental":{"k":[1,null]}}');
      assert.equal(seen.meta(`${META}clientInfo`), '{"name":"ü","version":"1","title":"T"}');
    });

    const asks = [
      ['elicitation, a form', 'elicitation/create', { elicitation: {} }, `{"mode":"form","message":"Who \\ufffd?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","default":1.0}},"x":${ODD}}}`,
        `{"action":"accept","content":{"n":1.0,"s":"\\ufffd"},"_meta":{"a":1.50}}`],
      ['elicitation, an address', 'elicitation/create', { elicitation: { form: {}, url: {} } }, '{"mode":"url","elicitationId":"e-1","url":"https://example.test/?a=1&b=%C3%A4","message":"Go"}', '{"action":"decline"}'],
      ['sampling with tools', 'sampling/createMessage', { sampling: { tools: {} } }, `{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":100,"temperature":0.10,` +
        `"tools":[{"name":"t","inputSchema":${ODD}}],"toolChoice":{"mode":"auto"},"metadata":{"n":9007199254740993}}`,
        `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":${ODD}}],"model":"m","stopReason":"toolUse"}`],
      ['roots', 'roots/list', { roots: {} }, '{}', '{"roots":[{"uri":"file:\\/\\/\\/a","name":"\\u00e9","_meta":{"x":1.0}}]}'],
    ];
    for (const [name, method, capabilities, params, response] of asks) {
      test(`${name}: question and answer as they are, the state byte for byte`, async (t) => {
        const state = '"st\\u0061te \\/ é \\ufffd"';
        const { o, c } = await relay(t, { era, capabilities, handlers: calling((call) => call.result(
          member(call.inner, 'inputResponses') ? '{"resultType":"complete","content":[{"type":"text","text":"thanks"}]}'
            : `{"resultType":"input_required","inputRequests":{"k\\u0065y":{"method":"${method}","params":${params}}},"requestState":${state}}`)) });
        const asked = [];
        c.answers[method] = (msg, raw) => {
          asked.push(raw);
          return response;
        };
        const { msg } = await call(c, ODD, '"progressToken":"p"');
        const [first, second] = o.of('tools/call');

        assert.deepEqual(msg.result, { content: [{ type: 'text', text: 'thanks' }] });
        assert.equal(asked.length, 1);
        assert.equal(member(asked[0], 'params'), params);
        assert.equal(member(second.inner, 'requestState'), state);
        assert.equal(member(second.inner, 'inputResponses', 'key'), response);
        for (const key of ['arguments', 'name'])
          assert.equal(member(second.inner, key), member(first.inner, key));
        assert.equal(second.meta('progressToken'), '"p"');
        assert.notEqual(first.msg.params.requestId, second.msg.params.requestId);
      });
    }

    test('a client that refuses, or fails, is told of to the server as what it said', async (t) => {
      const { o, c } = await relay(t, { era, capabilities: { elicitation: {} }, handlers: calling((call) => call.result(
        member(call.inner, 'inputResponses') ? '{"resultType":"complete","content":[]}'
          : '{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}}}')) });
      c.answers['elicitation/create'] = () => '{"action":"cancel"}';
      await call(c, '{}');

      assert.equal(member(o.of('tools/call')[1].inner, 'inputResponses', 'k'), '{"action":"cancel"}');
    });

    test('a client without the capability: a result that names it, no question', async (t) => {
      const { c } = await relay(t, { era, handlers: calling((call) => call.result('{"resultType":"input_required",' +
        '"inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}},"requestState":"s"}')) });
      const { msg } = await call(c, '{}');

      assert.equal(msg.result.isError, true);
      assert.match(JSON.stringify(msg.result), /sampling/);
    });

    test('subscriptions and list_changed, by one listen upstream that follows the set', async (t) => {
      const { o, c } = await relay(t, { era, handlers: { 'subscriptions/listen': (call) =>
        call.notify('notifications/subscriptions/acknowledged', `{"notifications":${member(call.inner, 'notifications')}}`) } });
      const watching = (uri) => o.of('subscriptions/listen').findLast((call) => member(call.inner, 'notifications', 'resourceSubscriptions')?.includes(uri));
      await c.result('resources/subscribe', { uri: 'a:1' });
      await until(() => watching('"a:1"'));
      await c.result('resources/subscribe', { uri: 'b:2' });
      await until(() => watching('"b:2"'));
      const listen = watching('"b:2"');

      assert.ok(member(listen.inner, 'notifications', 'resourceSubscriptions').includes('"a:1"'));
      listen.notify('notifications/resources/updated', `{"uri":"a:1","own":${ODD},"_meta":{"${META}subscriptionId":"x","k":1.0}}`);
      listen.notify('notifications/tools/list_changed', '{}');
      const { raw } = await c.waitFor((msg) => msg.method === 'notifications/resources/updated');
      assert.equal(member(raw, 'params', 'uri'), '"a:1"');
      assert.equal(member(raw, 'params', 'own'), ODD);
      assert.equal(member(raw, 'params', '_meta'), '{"k":1.0}');
      await c.waitFor((msg) => msg.method === 'notifications/tools/list_changed');
      assert.equal(o.of('resources/subscribe').length, 0);
    });

    test('ping is answered on the spot', async (t) => {
      const { o, c } = await relay(t, { era });
      const { raw } = await c.request('ping', '{}');

      assert.equal(member(raw, 'result'), '{}');
      assert.equal(o.of('ping').length, 0);
    });
  });
}

test('the version that a client asks for decides', async (t) => {
  const { client } = await relay(t);

  for (const [asked, got] of [['2025-06-18', '2025-06-18'], ['2025-11-25', '2025-11-25'], ['2025-03-26', LEGACY], ['2099-01-01', LEGACY]])
    assert.equal((await client({ era: asked })).initializeResult.protocolVersion, got);
});

test('errors of the binding are never shown as such', async (t) => {
  const errors = { '-33000': -32603, '-33001': -32603, '-33002': -32603, '-32602': -32603 };
  const { c } = await relay(t, { handlers: calling((call) =>
    call.outerError(`{"code":${member(call.inner, 'arguments', 'code')},"message":"of the binding"}`)) });

  for (const [code, shown] of Object.entries(errors)) {
    const { error } = (await call(c, `{"code":${code}}`)).msg;

    assert.equal(error?.code, shown, code);
    assert.match(error.message, /could not carry out this MCP request: of the binding$/, 'what is wrong is said');
  }
});

test('two servers of one session: each client sees its own only', async (t) => {
  const { o, given, c } = await relay(t, { session: { servers: ['one', 'two'] },
    handlers: calling((call) => call.result(`{"resultType":"complete","content":[],"structuredContent":"${call.msg.params.serverId}"}`)) });
  const second = await openClient(t, given[1]);

  assert.deepEqual(given.map((s) => s.name), ['one', 'two']);
  assert.equal((await call(c, '{}')).msg.result.structuredContent, o.declaration('one').serverId);
  assert.equal((await call(second, '{}')).msg.result.structuredContent, o.declaration('two').serverId);
});

test('neither arguments nor results are logged', async (t) => {
  const { c } = await relay(t, { handlers: calling((call) =>
    call.result('{"resultType":"complete","content":[{"type":"text","text":"secret-in-a-result"}]}')) });
  await call(c, '{"k":"secret-in-an-argument"}');

  assert.doesNotMatch(daemon.stderr, /secret-in-/);
});

// SPDX-License-Identifier: Apache-2.0
// The viewer's model, without a browser: rows of events, pages that are dropped and read again, what is bounded.

import test from 'node:test';
import assert from 'node:assert/strict';

import { Heights } from '../../../images/ui/src/model/heights.ts';
import { addLine, eventsOf, LineSplitter, newBatch } from '../../../images/ui/src/model/lines.ts';
import { PAGES_BYTES, TEXT_MAX } from '../../../images/ui/src/model/limits.ts';
import { Pages } from '../../../images/ui/src/model/pages.ts';
import { Model } from '../../../images/ui/src/model/reduce.ts';
import { applyRecord } from '../../../images/ui/src/model/run-calls.ts';
import { numbered, sourceOf, turn } from './events.mjs';

function modelOf(events) {
  const model = new Model('s');

  for (const e of events)
    model.apply(e, JSON.stringify(e).length);
  return model;
}

const rowsOf = (model) => Array.from({ length: model.rows.count }, (_, i) => model.rows.get(i));

test('chunks of a message are one row, and a tool call between them makes two', () => {
  const model = modelOf(numbered([
    { kind: 'prompt', turnId: 1, content: { type: 'text', text: 'Do it' } },
    { kind: 'message', turnId: 1, messageId: 'm', content: { type: 'text', text: 'Hel' } },
    { kind: 'message', turnId: 1, messageId: 'm', content: { type: 'text', text: 'lo' } },
    { kind: 'tool_call', event: 'tool_call', turnId: 1, toolCallId: 't', title: 'ls', toolKind: 'execute', status: 'pending' },
    { kind: 'message', turnId: 1, messageId: 'm', content: { type: 'text', text: 'bye' } },
    { kind: 'result', event: 'tool_call_update', turnId: 1, toolCallId: 't', status: 'failed', rawOutput: { exit: 1 } },
    { kind: 'error', final: true, turnId: 1, error: { class: 'auth', message: 'no', retryable: false } },
  ]));

  assert.deepEqual(rowsOf(model).map((r) => [r.id, r.kind, r.last]),
    [[1, 'prompt', 1], [2, 'message', 3], [4, 'tool', 6], [5, 'message', 5], [7, 'end', 7]]);
  assert.deepEqual(rowsOf(model)[1].blocks, [{ type: 'text', text: 'Hello' }]);
  const { call } = rowsOf(model)[2];
  assert.deepEqual([call.status, call.title, call.output], ['failed', 'ls', { exit: 1 }]);
  assert.deepEqual([model.run.turns[0].failedCalls, model.run.turns[0].prompt, model.run.open], [1, 'Do it', 0]);
  assert.match(model.run.errors[0].text, /refused the key.*no/);
  assert.deepEqual(model.run.spans.map((s) => [s.kind, s.failed ?? false]), [['turn', true], ['tool', true]]);
});

test('a question is open until its answer, and the time is counted as waiting', () => {
  const ask = { kind: 'ask_approval', turnId: 1, sessionId: 's', ask: 1, title: 'Run', options: [{ optionId: 'a', name: 'Allow', kind: 'allow_once' }] };
  const events = numbered([{ kind: 'prompt', turnId: 1, content: { type: 'text', text: 'x' } }, ask,
    { kind: 'ask_approval', turnId: 1, ask: 1, answer: { outcome: { outcome: 'selected', optionId: 'a' } }, by: 'client', via: 'http' }]);

  assert.deepEqual(modelOf(events.slice(0, 2)).run.questions.map((q) => q.id), ['s:1']);
  const model = modelOf(events);
  assert.deepEqual(model.run.questions, []);
  const { answer } = model.rows.get(1).question;
  assert.deepEqual([answer.text, answer.accepted, answer.by, answer.via], ['Allow', true, 'client', 'http']);
  assert.equal(model.run.turns[0].waitedMs, 1000);
});

test('lines of the ledger take the place of what the events said of a turn', () => {
  const model = modelOf(numbered([
    { kind: 'prompt', turnId: 1, content: { type: 'text', text: 'x' } },
    { kind: 'usage', turnId: 1, usage: { inputTokens: 5, outputTokens: 1 } },
    { kind: 'complete', final: true, turnId: 1, stopReason: 'end_turn', usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 } },
  ]));

  assert.deepEqual([model.run.usage.inputTokens, model.run.calls.length, model.run.calls[0].live], [7, 1, true]);
  applyRecord(model.run, { type: 'model_call', turn: 1, ts: '2026-11-21T08:00:02.000Z', model: 'm', durationMs: 900, usage: { inputTokens: 7 }, cost: { amount: 0.5, currency: 'USD' } });
  applyRecord(model.run, { type: 'turn', turn: 1, model: 'm', modelCalls: 1, usage: { inputTokens: 7 }, cost: { amount: 0.5, currency: 'USD' },
    cumulative: { usage: { inputTokens: 70 }, cost: { amount: 5, currency: 'USD' } } });
  assert.deepEqual([model.run.calls.length, model.run.calls[0].durationMs, model.run.models[0].calls, model.run.usage.inputTokens, model.run.cost.amount],
    [1, 900, 1, 70, 5]);
});

test('a model call of the ledger has its place in the timeline, by the time that it took', () => {
  const model = modelOf(numbered(turn(1, 'hello')));
  const call = (more) => applyRecord(model.run, { type: 'model_call', turn: 1, ts: '2026-11-21T08:00:05.500Z', model: 'm', ...more });

  call({ durationMs: 2000 });
  call({ durationMs: 100, error: { class: 'provider' } });
  call({}); // how long it took is not known: it has no place
  const { spans } = model.run;
  assert.deepEqual(spans.filter((s) => s.kind === 'model').map((s) => [s.end - s.start, s.label, s.failed, s.row]), [[2000, 'm', false, 0], [100, 'm', true, 0]]);
  assert.deepEqual(spans.map((s) => s.start), spans.map((s) => s.start).sort((a, b) => a - b));
});

test('members of wrong types are as if they were not there', () => {
  const odd = [null, 7, 'x', [], {}, true];
  const names = ['content', 'title', 'toolCallId', 'options', 'answer', 'plan', 'entries', 'check', 'artifact', 'error', 'usage', 'cost', 'ts', 'turnId', 'event', '_meta', 'locations'];

  for (const kind of ['prompt', 'message', 'thought', 'tool_call', 'result', 'ask_approval', 'plan', 'usage', 'lifecycle', 'check', 'artifact', 'error', 'complete', 'new'])
    for (const name of names)
      for (const value of odd)
        modelOf([{ seq: 1, kind, final: kind === 'complete' || kind === 'error', [name]: value }, { seq: 2, kind, [name]: value }]);
  assert.equal(modelOf([{ seq: 1, kind: 'message', content: { type: 'text', text: { a: 1 } } }]).rows.get(0).blocks[0].text, '');
});

test('a text that is too long is cut, and says how much is missing', () => {
  const chunk = { kind: 'message', turnId: 1, content: { type: 'text', text: 'x'.repeat(100_000) } };
  const model = modelOf(numbered(Array.from({ length: 10 }, () => chunk)));
  const [block] = model.rows.get(0).blocks;

  assert.equal(block.text.length, TEXT_MAX);
  assert.equal(block.cut, 1_000_000 - TEXT_MAX);
});

test('100 000 events: pages are dropped, and what is looked at is read again as it was', async () => {
  const events = numbered(Array.from({ length: 10_000 }, (_, i) => turn(i + 1, 'y'.repeat(4000))).flat());
  const whole = new Map();
  const model = new Model('s');

  assert.equal(events.length, 100_000);
  for (const e of events) {
    model.apply(e, JSON.stringify(e).length);
    if (e.seq % 5000 === 0) {
      const i = model.rows.count - 5;
      whole.set(i, JSON.stringify(model.rows.get(i)));
    }
  }
  assert.ok(model.rows.bytes <= PAGES_BYTES, `${model.rows.bytes} bytes are held`);
  assert.equal(model.rows.count, 60_000);
  const source = sourceOf(events);
  let changed;
  const pages = new Pages(model.rows, source, () => changed?.());

  for (const [i, text] of [...whole].slice(0, 6)) {
    assert.equal(model.rows.get(i), null, `row ${i} was dropped`);
    await new Promise((done) => {
      changed = () => model.rows.get(i) && done();
      pages.see(i, i + 20);
    });
    assert.equal(JSON.stringify(model.rows.get(i)), text);
    assert.ok(model.rows.bytes <= PAGES_BYTES * 1.1);
  }
  assert.ok(source.most < 2000, `${source.most} events were read for one page`);
  pages.close();
});

test('a tool call of a dropped page that ends later is whole when it is read again', async () => {
  const events = numbered([
    { kind: 'message', turnId: 1, messageId: 'm0', content: { type: 'text', text: 'before' } },
    { kind: 'tool_call', event: 'tool_call', turnId: 1, toolCallId: 'long', title: 'long', status: 'in_progress' },
    ...Array.from({ length: 60_000 }, (_, i) => ({ kind: 'message', turnId: 1, messageId: `m${i % 2}`, content: { type: 'text', text: 'z'.repeat(900) } })),
    { kind: 'result', event: 'tool_call_update', turnId: 1, toolCallId: 'long', status: 'completed', rawOutput: 'all' },
  ]);
  const model = modelOf(events);

  assert.equal(model.rows.get(1), null);
  assert.deepEqual([model.run.spans.find((s) => s.kind === 'tool').end > 0, model.rows.find(2)], [true, 1]);
  await new Promise((done, fail) => {
    const pages = new Pages(model.rows, sourceOf(events), () => (pages.error ? fail(new Error(pages.error)) : done()));
    pages.see(0, 5);
  });
  assert.deepEqual([model.rows.get(1).call.status, model.rows.get(1).call.output], ['completed', 'all']);
});

test('a page that cannot be read says why, and can be tried again', async () => {
  const events = numbered(Array.from({ length: 40_000 }, (_, i) => ({ kind: 'message', turnId: 1, messageId: `${i}`, content: { type: 'text', text: 'z'.repeat(900) } })));
  const model = modelOf(events);

  assert.equal(model.rows.get(3), null);
  let broken = true;
  const source = { async *read(range) { if (broken) throw new Error('no network'); yield* sourceOf(events).read(range); } };
  let changed;
  const next = () => new Promise((done) => { changed = done; });
  const pages = new Pages(model.rows, source, () => changed());
  let told = next();

  pages.see(0, 5);
  await told;
  assert.equal(pages.error, 'no network');
  broken = false;
  told = next();
  pages.retry();
  await told;
  assert.equal(model.rows.get(3).blocks[0].text.length, 900);
});

test('lines come whole, however the bytes are cut, and what is no event is counted', async () => {
  const text = '{"seq":1,"kind":"a","t":"äöü€😀"}\n\nnonsense\n{"seq":2}\n{"seq":3,"kind":"b"}';
  const bytes = new TextEncoder().encode(text);

  for (const size of [1, 2, 3, 7, 1000]) {
    const splitter = new LineSplitter();
    const batch = newBatch();
    for (let at = 0; at < bytes.length; at += size)
      for (const line of splitter.push(bytes.subarray(at, at + size)))
        addLine(batch, line);
    for (const line of splitter.end())
      addLine(batch, line);
    assert.deepEqual([batch.events.map((e) => e.seq), batch.events[0].t, batch.bad], [[1, 3], 'äöü€😀', 2]);
  }
  const seen = [];
  for await (const batch of eventsOf(new Blob(['{"seq":1,"kind":"a"}\n{"seq":2,"kind":"a"}\n{"seq":3,"kind":"a"}\n']).stream(), 2))
    seen.push(...batch.events.map((e) => e.seq));
  assert.deepEqual(seen, [1, 2]);
});

test('heights: sums and places agree with the plain way', () => {
  const heights = new Heights(50);
  const plain = Array.from({ length: 3000 }, () => 50);

  heights.resize(1500);
  for (let i = 0; i < 1500; i += 7)
    heights.set(i, plain[i] = 20 + (i % 90));
  heights.resize(3000);
  for (let i = 1400; i < 3000; i += 11)
    assert.equal(heights.set(i, 90), 90 - plain[i]), plain[i] = 90;
  for (const i of [0, 1, 2, 1023, 1024, 1499, 1500, 2047, 2999]) {
    const top = plain.slice(0, i).reduce((a, b) => a + b, 0);
    assert.deepEqual([heights.top(i), heights.at(top), heights.at(top + plain[i] - 1)], [top, i, i]);
  }
  assert.equal(heights.at(1e9), 2999);
});

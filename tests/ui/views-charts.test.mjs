// SPDX-License-Identifier: Apache-2.0
// build: release
// The geometry of the timeline, the sums of the usage chart, and the fields of an elicitation's form.

import assert from 'node:assert/strict';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { packages, VIEWS } from './page.mjs';

let spans, shares, form, blocks;
before(async () => {
  packages();
  [spans, shares, form, blocks] = await Promise.all(['session/spans', 'session/shares', 'turn/form', 'calls/blocks'].map((name) => import(path.join(VIEWS, `${name}.ts`))));
});

const span = (kind, start, end, more = {}) => ({ kind, turn: 1, start, end, label: kind, ...more });

describe('the timeline', () => {
  test('puts calls at the same time into rows of their lane, three at most', () => {
    const lanes = spans.lanesOf([span('turn', 0, 100), span('tool', 0, 50), span('tool', 10, 60), span('tool', 20, 70), span('tool', 30, 80), span('tool', 55, 90)], 100);

    assert.deepEqual(lanes.map((l) => [l.kind, l.rows.map((r) => r.map((p) => p.index))]), [['turn', [[0]]], ['tool', [[1, 5], [2], [3, 4]]]]);
  });
  test('draws what goes on until now, and at least two pixels', () => {
    const list = [span('model', 0, 0), span('tool', 500, 500, { failed: true })];
    const range = spans.rangeOf(list, 1000);
    const marks = spans.picture(spans.lanesOf(list, 1000), list, range, 1000);

    assert.deepEqual(range, { from: 0, to: 1000 });
    assert.deepEqual(marks, [[[{ x: 0, width: 1000, count: 1, failed: false, index: 0 }]], [[{ x: 500, width: 2, count: 1, failed: true, index: 1 }]]]);
  });
  test('has a bounded number of marks for 100 000 spans, none of which is lost, at every zoom', () => {
    const list = Array.from({ length: 100_000 }, (_, i) => span(spans.KINDS[i % 5], i * 10, i * 10 + 1 + (i % 60), { failed: i === 77_777 }));
    const whole = spans.rangeOf(list, 0);
    const lanes = spans.lanesOf(list, 0);
    let range = whole;

    for (let zoom = 0; zoom < 12; zoom++) {
      const marks = spans.picture(lanes, list, range, 1400).flat(2);
      const seen = list.filter((s) => s.start <= range.to && s.end >= range.from).length;

      assert.ok(marks.length <= spans.MARKS, `${marks.length}`);
      assert.equal(marks.reduce((n, m) => n + m.count, 0), seen);
      if (zoom === 0) assert.equal(marks.filter((m) => m.failed).length, 1);
      range = spans.zoomed(range, whole, 0.5, 777_770);
    }
  });
  test('shows a long span that lies under others also where it began long before', () => {
    const list = [...Array.from({ length: 3 }, () => span('tool', 0, 10_000)), span('tool', 1, 10_000), ...Array.from({ length: 50 }, (_, i) => span('tool', 10 + i, 11 + i))];
    const marks = spans.picture(spans.lanesOf(list, 0), list, { from: 9000, to: 9500 }, 1000).flat(2);

    assert.equal(marks.reduce((n, m) => n + m.count, 0), 4);
  });
  test('a slider over it reaches the end, whatever its step', () => {
    for (const length of [0, 1, 999, 7189, 7190, 7777, 312_000]) {
      const step = spans.seekStep(length), last = Math.floor(length / step) * step;

      assert.deepEqual([spans.seekPlace(last, length), spans.seekPlace(Math.max(0, last - step), length) <= last], [length, true]);
    }
    assert.deepEqual([spans.seekPlace(0, 7777), spans.seekPlace(4000, 7777)], [0, 4000]);
  });
  test('zooms around a time and stays in the run', () => {
    const whole = { from: 0, to: 1000 };

    assert.deepEqual(spans.zoomed(whole, whole, 0.5, 500), { from: 250, to: 750 });
    assert.deepEqual(spans.zoomed({ from: 0, to: 100 }, whole, 4, 0), { from: 0, to: 400 });
    assert.deepEqual(spans.zoomed(whole, whole, 2, 500), whole);
    assert.deepEqual(spans.held({ from: 900, to: 1100 }, whole), { from: 800, to: 1000 });
    assert.equal(spans.zoomed(whole, whole, 1e-9, 500).to - spans.zoomed(whole, whole, 1e-9, 500).from, 10);
    for (const width of [120, 1400])
      for (const length of [15, 1000, 60_000, 86_400_000 * 40]) assert.ok(spans.ticks({ from: 0, to: length }, 0, width).length <= 60);
  });
});

describe('the usage chart', () => {
  const cost = (amount) => ({ amount, currency: 'USD' });
  const turns = Array.from({ length: 130 }, (_, i) => ({ n: i + 1, usage: { inputTokens: 100, cacheReadTokens: 60, outputTokens: 20, reasoningTokens: 5 }, cost: cost(1) }));

  test('has parts that add up, and few bars of many turns', () => {
    const chart = shares.chartOf('turn', 'tokens', turns, [], []);

    assert.deepEqual(chart.series, ['Input', 'Read from cache', 'Output', 'Reasoning']);
    assert.ok(chart.bars.length <= shares.BARS);
    assert.equal(chart.bars[0].label, '1–3');
    assert.deepEqual(chart.bars[0].parts, [120, 180, 45, 15]);
    assert.equal(chart.bars.reduce((n, b) => n + b.total, 0), 130 * 120);
  });
  test('tells the cost by model, and what no model is known of', () => {
    const calls = [{ turn: 1, model: 'a', usage: {}, cost: cost(0.75) }, { turn: 2, model: '__proto__', usage: {}, cost: cost(1) }];
    const models = [{ model: 'a', calls: 1, usage: {}, cost: cost(0.75) }, { model: '__proto__', calls: 1, usage: {}, cost: cost(1) }];
    const chart = shares.chartOf('turn', 'cost', turns.slice(0, 2), calls, models);

    assert.deepEqual(chart.series, ['a', '__proto__', 'Not told by model']);
    assert.deepEqual(chart.bars.map((b) => b.parts), [[0.75, 0, 0.25], [0, 1, 0]]);
    assert.deepEqual(shares.chartOf('model', 'cost', turns, calls, models).bars.map((b) => [b.label, b.total]), [['__proto__', 1], ['a', 0.75]]);
    assert.deepEqual([0, 3, 12.1, 1000].map(shares.ceiling), [1, 5, 20, 1000]);
  });
});

describe('a form of an elicitation', () => {
  const schema = JSON.parse(`{"type":"object","required":["n","__proto__"],"properties":{"n":{"type":"integer","minimum":2,"maximum":5},
    "__proto__":{"type":"string","title":"P","maxLength":3},"e":{"type":"string","enum":["a","b"],"enumNames":["A"],"default":"b"},
    "t":{"type":"string","oneOf":[{"const":"x","title":"X"}]},"m":{"type":"array","items":{"enum":["p","q"]},"minItems":1},"b":{"type":"boolean","default":true},"d":{"type":"string","format":"date"}}}`);

  test('has the fields of its schema', () => {
    assert.deepEqual(form.fieldsOf(schema).map((f) => [f.name, f.kind, f.required, f.initial]), [['n', 'number', true, ''], ['__proto__', 'text', true, ''], ['e', 'choice', false, 'b'],
      ['t', 'choice', false, ''], ['m', 'choices', false, []], ['b', 'boolean', false, true], ['d', 'text', false, '']]);
    assert.deepEqual(form.fieldsOf(schema)[2].choices, [{ value: 'a', title: 'A' }, { value: 'b', title: 'b' }]);
    for (const odd of [null, 5, 'x', [], { properties: 7 }, { properties: { a: null, b: 5 } }]) assert.ok(Array.isArray(form.fieldsOf(odd)));
    assert.ok(form.fieldsOf({ properties: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`f${i}`, {}])) }).length <= 64);
  });
  test('tells what is wrong, and sends what was given', () => {
    const fields = form.fieldsOf(schema);

    assert.deepEqual(['', 'x', '1', '9', '2.5', '3'].map((v) => form.faultOf(fields[0], v)), ['is needed', 'has to be a number', 'at least 2', 'at most 5', 'has to be a whole number', undefined]);
    assert.equal(form.faultOf(fields[1], 'abcd'), 'at most 3 characters');
    assert.equal(form.faultOf(fields[4], []), 'at least 1 of them');
    const content = form.contentOf(fields, ['3', 'p', 'a', '', ['q'], false, '']);

    assert.equal(JSON.stringify(content), '{"n":3,"__proto__":"p","e":"a","m":["q"],"b":false}');
    assert.equal(Object.getPrototypeOf(content), Object.prototype);
  });
});

test('of a long table only the blocks near the window are there', () => {
  const heights = Array.from({ length: 1000 }, () => 800);

  assert.deepEqual(blocks.windowOf(heights, 8000, 9000), { from: 10, to: 12, before: 8000, after: 800 * 988 });
  assert.deepEqual(blocks.windowOf(heights, -5000, -1000), { from: 0, to: 1, before: 0, after: 800 * 999 });
  assert.equal(blocks.windowOf(heights, 9e9, 9e9).to, 1000);
});

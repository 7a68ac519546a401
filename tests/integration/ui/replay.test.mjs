// SPDX-License-Identifier: Apache-2.0
// Replay in the viewer: what is shown at a moment is what had happened by then, forward and back.

import test from 'node:test';
import assert from 'node:assert/strict';

import { Player } from '../../../images/ui/src/model/player.ts';
import { numbered, sourceOf, turn } from './events.mjs';

const EVENTS = numbered([1, 2, 3].flatMap((n) => turn(n, 'hello'))); // 30 events, one each second
const FROM = Date.parse(EVENTS[0].ts);
const TO = Date.parse(EVENTS.at(-1).ts);

function playerOf(events = EVENTS, to = TO) {
  return new Player('s', sourceOf(events, 7), FROM, to);
}

test('time passes at the chosen speed', async () => {
  const player = playerOf();

  player.skipWaits = false;
  await player.tick(5000);
  assert.equal(player.model.run.events, 0, 'it does not run before it is told to');
  player.play();
  await player.tick(2500);
  assert.deepEqual([player.position - FROM, player.model.run.lastSeq], [2500, 3]);
  player.speed = 5;
  await player.tick(1000);
  assert.deepEqual([player.position - FROM, player.model.run.lastSeq], [7500, 8]);
  player.speed = 50;
  await player.tick(10_000);
  assert.deepEqual([player.position, player.model.run.lastSeq, player.playing], [TO, 30, false]);
});

test('seek shows what was known then, and going back forgets the rest', async () => {
  const player = playerOf();

  await player.seek(FROM + 25_000);
  assert.deepEqual([player.model.run.lastSeq, player.model.run.turns.length, player.model.run.open], [26, 3, 3]);
  const { model } = player;
  await player.seek(FROM + 4500);
  assert.notEqual(player.model, model);
  assert.deepEqual([player.model.run.lastSeq, player.model.run.turns.length], [5, 1]);
  assert.equal(player.model.rows.get(player.model.rows.count - 1).call.status, 'pending');
  await player.seek(FROM + 7000);
  assert.equal(player.model.rows.get(3).call.status, 'completed');
});

test('seeks that come while one goes on: the last one counts', async () => {
  const player = playerOf();
  const all = [player.seek(FROM + 29_000), player.seek(FROM + 3000), player.seek(FROM + 20_000), player.seek(FROM + 10_000)];

  await Promise.all(all);
  assert.deepEqual([player.position - FROM, player.model.run.lastSeq], [10_000, 11]);
});

test('a seek back that comes when a seek forward has passed that place', async () => {
  const player = playerOf();
  const forward = player.seek(TO);

  while (player.model.run.lastSeq < 20) await Promise.resolve();
  assert.ok(player.position < FROM + 5000, 'it is still on its way');
  await Promise.all([player.seek(FROM + 5000), forward]);
  assert.deepEqual([player.model.run.lastSeq, player.position - FROM], [6, 5000]);
});

test('waiting is passed over, if that is wanted', async () => {
  const events = [EVENTS[0], { ...EVENTS[1], ts: new Date(FROM + 3_600_000).toISOString() }, { ...EVENTS[2], ts: new Date(FROM + 3_600_500).toISOString() }];
  const player = playerOf(events, FROM + 3_600_500);

  player.play();
  await player.tick(100);
  await player.tick(100);
  assert.deepEqual([player.model.run.lastSeq, player.position - FROM], [2, 3_600_000]);
  await player.tick(500);
  assert.equal(player.model.run.lastSeq, 3);
});

test('after its end it begins anew', async () => {
  const player = playerOf();

  await player.seek(TO);
  player.play();
  assert.equal(player.position, FROM);
  await player.tick(1000);
  assert.equal(player.model.run.turns.length, 1);
  player.close();
});

test('what is given up while it is read is no error', async () => {
  const source = { async *read({ since, signal }) {
    yield* sourceOf(EVENTS.slice(0, 10)).read({ since, signal });
    await new Promise((_, fail) => { signal.addEventListener('abort', () => fail(signal.reason)); });
  } };
  const player = new Player('s', source, FROM, TO);
  const far = player.seek(TO);

  await new Promise(setImmediate);
  assert.equal(player.model.run.lastSeq, 10, 'it waits for more');
  await player.seek(FROM + 1000);
  await far;
  assert.equal(player.model.run.lastSeq, 2);
  const last = player.seek(TO);
  player.close();
  await last;
});

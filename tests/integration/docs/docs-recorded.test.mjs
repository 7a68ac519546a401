// SPDX-License-Identifier: Apache-2.0
// build: release
// The exchanges on the pages of daemon/protocol/ are what the daemon says now. `make docs` records them anew.

import assert from 'node:assert/strict';
import test, { before } from 'node:test';
import { EXCHANGES } from '../../docs/exchanges.mjs';
import { markersOf, pagesWith, recordAll } from '../../docs/record.mjs';

let recorded;

before(async () => { recorded = await recordAll(); });

test('every exchange stands on a page, once', () => {
  assert.deepEqual(markersOf().sort(), Object.keys(EXCHANGES).sort());
});

for (const name of Object.keys(EXCHANGES))
  test(`${name}: the page shows what the daemon says`, () => {
    const { now, due } = pagesWith(recorded, name);

    assert.equal(now, due, 'run: make docs');
  });

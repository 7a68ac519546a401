// SPDX-License-Identifier: Apache-2.0
// Tokens that may less than all: the page offers what they may, and says in words what they lack.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mint, revoke } from '../lib/tokens.mjs';
import { sees } from './browser.mjs';
import { startWatched, tab } from './viewer.mjs';

const ACTS = ['Prompt…', 'Begin a draft…', 'Allow once', 'Reject'];

describe('what a token may', () => {
  let w, asked;
  before(async () => {
    w = await startWatched();
    asked = await w.session();
    await w.session({ prompts: ['echo another'] });
    w.c.startPrompt(asked.sessionId, 'write a.c int; perm p1; echo over');
  });
  after(() => w.end());

  const offered = async (page) => {
    const found = [];

    for (const name of ['Files', 'History']) {
      await tab(page, name);
      for (const act of ACTS) if (!found.includes(act) && await page.getByRole('button', { name: act, exact: true }).count()) found.push(act);
    }
    return found.sort();
  };

  test('an observer of one session sees that one, and is offered nothing that it may not', async () => {
    const { token, id } = await mint(w.d, 'observe', { sessions: [asked.sessionId] });
    const { page, close } = await w.open(asked.sessionId, { token, refuses: true });

    await sees(page, '.question-open', /Possible answers: Allow once/);
    assert.deepEqual(await offered(page), []);
    assert.equal(await page.locator('.session').count(), 1);
    await sees(page, '.composer', /Prompting and answering need a token of the scope drive; this one has observe/);
    await sees(page, '.bar', /only watching.*one session only/);
    assert.doesNotMatch(await page.locator('.app').textContent(), /needs? you/);
    await tab(page, 'Files');
    await sees(page, '.changes', /nothing to compare with/);
    await revoke(w.d, id);
    await sees(page, '.page-problem', /not one of this daemon, or it is over/);
    await close();
  });
  test('who may drive is offered all of it', async () => {
    const { token } = await mint(w.d, 'drive');
    const { page, close } = await w.open(asked.sessionId, { token });

    await sees(page, '.question-open', /asks for permission/);
    assert.deepEqual(await offered(page), [...ACTS].sort());
    assert.equal(await page.getByText('only watching').count(), 0);
    await close();
  });
  for (const scope of ['usage', 'tools', 'model'])
    test(`a token for ${scope} is refused in words`, async () => {
      const { token } = await mint(w.d, scope);
      const { page, close } = await w.open('', { token, refuses: true });

      await sees(page, '[role=alert]', /needs the scope observe, which is for looking at sessions/);
      await close();
    });
  test('a token that is none', async () => {
    const { page, close } = await w.open('', { token: 'no-such-token', refuses: true });

    await sees(page, '[role=alert]', /not one of this daemon/);
    await close();
  });
});

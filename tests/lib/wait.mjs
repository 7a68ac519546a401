// SPDX-License-Identifier: Apache-2.0
// Waiting for what no message announces.

import assert from 'node:assert/strict';
import { patience, sleep } from './rawws.mjs';
import { isGone } from './vanishing.mjs';

// What a condition looks at may not be there yet, or may go while it looks: then it does not hold yet, and the next look will tell.
async function held(pred) {
  try {
    return { value: await pred() };
  } catch (e) {
    if (!isGone(e))
      throw e;
    return { why: ` (${e.message})` };
  }
}

// The first true value of pred, looked for each 5 ms; each 25 if a look is dear: one that reads the process table would slow down what
// it waits for. what: in words, or a function that says at the end how far it is from there.
export async function until(pred, what = String(pred), ms = 10000) {
  const end = Date.now() + patience(ms);

  for (;;) {
    const at = performance.now();
    const { value, why = '' } = await held(pred);
    if (value)
      return value;
    assert.ok(Date.now() < end, `never happened: ${what instanceof Function ? what() : what}${why}`);
    await sleep(Math.min(25, Math.max(5, 4 * (performance.now() - at))));
  }
}

// What a time limit of the product ends once what has to come before that has come. On a busy machine the limit strikes earlier than that:
// then it is tried again with twice the time, and the last try has to be right. attempt(limit): what came of it.
export async function withLimit(limit, attempt, tooEarly, tries = 6) {
  for (let left = tries - 1;; left--, limit *= 2) {
    const result = await attempt(limit);

    if (left === 0 || !tooEarly(result))
      return result;
  }
}

// What has to have come before a daemon ends by itself: what begin() has come to, or {late: why not} if the daemon was quicker.
export async function beforeEnd(d, begin) {
  const over = d.exited.then(() => { throw new Error('the daemon has ended'); });

  try {
    return await Promise.race([begin(), over]);
  } catch (late) {
    await until(() => d.exit || d.logs.some((l) => l.mod === 'life' && l.to === 'draining'), () => late.stack);
    return { late };
  }
}

// withLimit() for attempts that begin so.
export async function withLife(limit, attempt) {
  const result = await withLimit(limit, attempt, ({ late }) => late);

  if (result.late)
    throw result.late;
  return result;
}

// A count once it has been the same for a while: what went before may still be on its way out.
export async function steady(count) {
  let value = count(), same = 0;

  await until(() => {
    const now = count();

    same = now === value ? same + 1 : 0;
    value = now;
    return same > 40;
  }, 'a count that stays');
  return value;
}

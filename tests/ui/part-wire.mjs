// SPDX-License-Identifier: Apache-2.0
// The page and its connections: cut in mid-turn, from another origin, and a replay of what came.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../lib/wait.mjs';
import { openPage, sees } from './browser.mjs';
import { BUILT } from './page.mjs';
import { startWatched, tab } from './viewer.mjs';

const listening = (server) => new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(server.address().port)); });

// Stands between the page and the daemon, and cuts.
async function startCutter(port) {
  const open = new Set();
  let closed = false;
  const server = net.createServer((from) => {
    if (closed)
      return from.destroy();
    const to = net.connect(port, '127.0.0.1');

    for (const [a, b] of [[from, to], [to, from]]) {
      open.add(a);
      a.on('close', () => { open.delete(a); b.destroy(); }).on('error', () => {});
      a.pipe(b);
    }
  });

  return {
    port: await listening(server),
    cut() { for (const s of open) s.destroy(); },
    set down(on) { closed = on; },
    close: () => { for (const s of open) s.destroy(); return new Promise((resolve) => { server.close(resolve); }); },
  };
}

// Another site that has the files of the viewer.
async function startSite() {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
  const server = http.createServer((req, res) => {
    const { pathname } = new URL(req.url, 'http://x');
    const name = pathname.endsWith('/') ? 'index.html' : path.basename(pathname);

    res.setHeader('Content-Type', types[path.extname(name)] ?? 'text/plain');
    res.end(fs.existsSync(`${BUILT}/${name}`) ? fs.readFileSync(`${BUILT}/${name}`) : '');
  });
  const port = await listening(server);

  return { origin: `http://localhost:${port}`, close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) };
}

describe('connections', () => {
  let w, other, site, cutter;
  before(async () => {
    w = await startWatched();
    site = await startSite();
    other = await startWatched({ flags: { allowOrigin: site.origin } });
    cutter = await startCutter(w.d.port);
  });
  after(async () => {
    await cutter?.close();
    await site?.close();
    await other?.end();
    await w?.end();
  });

  test('cut in mid-turn, several times: it goes on by itself, and nothing is lost or doubled', async () => {
    const PIECES = 40, EACH = 25;
    const { sessionId } = await w.session();
    const { page, close } = await openPage(`http://127.0.0.1:${cutter.port}/ui/#token=${w.d.token}&session=${sessionId}`, { refuses: true });
    const numbers = () => page.evaluate(() => [...document.querySelectorAll('.say-agent')].flatMap((e) => e.textContent.match(/\d{10}/g) ?? []).map(Number));

    await sees(page, '.page-head', /live/);
    const turn = w.c.startPrompt(sessionId, Array.from({ length: PIECES }, () => `flood ${EACH} 200; sleep 60`).join('; '));
    for (let cuts = 1; cuts <= 4; cuts++) {
      await page.waitForFunction((n) => document.querySelector('.page-head').textContent.includes('live')
        && [...document.querySelectorAll('.say-agent')].flatMap((e) => e.textContent.match(/\d{10}/g) ?? []).length > n, cuts * EACH * 4);
      cutter.down = cuts === 4;
      cutter.cut();
    }
    await sees(page, '.page-head', /connection lost, trying again|connecting/);
    assert.equal((await turn.answer).result.stopReason, 'end_turn');
    cutter.down = false;
    await sees(page, '.turnend', /Turn 1: Finished/);
    assert.deepEqual(await numbers(), Array.from({ length: PIECES * EACH }, (_, i) => i % EACH + 1));
    await sees(page, '.page-head', /live/);
    await close();
  });

  test('from another origin that is allowed, and from one that is not', async () => {
    const { sessionId } = await other.session();
    const asks = (x) => `${site.origin}/ui/#url=${encodeURIComponent(`http://127.0.0.1:${x.d.port}`)}&token=${x.d.token}`;
    const origins = [site.origin, ...[w, other].map((x) => `http://127.0.0.1:${x.d.port}`)];
    const { page, close } = await openPage(`${asks(other)}&session=${sessionId}`, { origins });
    const turn = other.c.startPrompt(sessionId, 'perm p1; sleep 600000');

    await page.getByRole('button', { name: 'Allow once' }).click();
    await sees(page, '.say-agent', /permission:allow/);
    await page.getByRole('button', { name: 'Prompt…' }).click();
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByRole('button', { name: 'Cancel turn' }).click();
    await sees(page, '.turnend', /Cancelled/);
    await turn.answer;
    assert.equal(await page.evaluate(() => location.href.includes('token') || location.href.includes('url=')), false);
    await close();
    const refused = await openPage(asks(w), { origins, refuses: true });

    await sees(refused.page, '[role=alert]', /does not answer, or does not allow this page|does not allow pages of this origin/);
    assert.equal(await refused.page.locator('.session').count(), 0);
    await refused.close();
  });

  test('replay ×50: play, pause, seek, and out again', async () => {
    const { sessionId } = await w.session({ prompts: ['echo first; sleep 900; tool t1 read Read it; sleep 900; echo second', 'sleep 900; echo third; sleep 900; echo fourth'] });
    const { page, close } = await w.open(sessionId);
    const slider = page.getByRole('slider');
    const rows = () => page.locator('[data-row]').count();
    const at = async () => Number(await slider.inputValue());
    const whole = await page.waitForFunction(() => document.querySelectorAll('.turnend').length === 2 && document.querySelectorAll('[data-row]').length).then((h) => h.jsonValue());

    await page.getByRole('button', { name: 'Replay' }).evaluate(async (replay) => { // in the page: a busy machine is not quick enough to pause it
      const pause = () => document.querySelector('.transport button[aria-label=Pause]');

      replay.click();
      while (!pause() || !document.querySelector('[data-row]')) await new Promise(requestAnimationFrame);
      pause().click();
    });
    const rest = (ms) => page.evaluate((n) => new Promise((done) => { setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), n); }), ms);

    await until(async () => { // but for what was under way
      const before = await at();

      await rest(300);
      return before === await at();
    }, 'it stands');
    assert.ok(await rows() < whole, 'it has begun anew');
    await page.getByLabel('Skip waiting').uncheck();

    await slider.focus();
    await page.keyboard.press('End');
    await page.waitForFunction((n) => document.querySelectorAll('[data-row]').length === n, whole);
    const { body } = await w.d.http(`/v1/sessions/${sessionId}/events`, { token: w.d.token });
    const events = body.trim().split('\n').map((line) => JSON.parse(line)), second = events.find((e) => e.content?.text === 'second');

    await slider.evaluate((e, place) => {
      e.value = place;
      e.dispatchEvent(new Event('input', { bubbles: true }));
    }, Date.parse(second.ts) - Date.parse(events[0].ts) + 100);
    await sees(page, '.say-agent', /second/);
    await page.waitForFunction(() => ![...document.querySelectorAll('.say-agent')].some((e) => /third/.test(e.textContent)));
    assert.match(await slider.getAttribute('aria-valuetext'), /turn [12] of 2/);
    await page.keyboard.press('Home');
    await page.waitForFunction(() => document.querySelectorAll('[data-row]').length <= 2);

    await page.getByRole('combobox').selectOption('50');
    await page.locator('.transport').getByRole('button', { name: 'Play', exact: true }).click();
    await page.waitForFunction((n) => document.querySelectorAll('[data-row]').length === n, whole);
    await page.locator('.transport').getByRole('button', { name: 'Play from the beginning' }).waitFor();
    assert.match(await (await tab(page, 'Timeline')).textContent(), /Turns/);
    await page.keyboard.press('Escape');
    await page.locator('.transport').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Prompt…' }).waitFor();
    await close();
  });
});

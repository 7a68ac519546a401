// SPDX-License-Identifier: Apache-2.0
// network {mode: "allowlist"}: behind a namespace, and behind nftables where the agents have a user of their own. What is listed is reached
// through the proxy that programs are told of, and nothing is reached beside it; a block is an event, a question opens a host for the session,
// other rules hold at once.

import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { until } from '../../../lib/wait.mjs';

const FAR = '127.0.0.2'; // no program takes it for its own loopback, and --upstream-allow names it
const isRoot = process.getuid() === 0;
let server, port;

before(async () => {
  server = http.createServer((req, res) => (req.url === '/slow' ? res.write('begun ') : res.end(`reached ${req.headers.host}`)));
  server.listen(0, FAR);
  await once(server, 'listening');
  port = server.address().port;
});
after(() => server.close());

const listed = (...more) => ({ mode: 'allowlist', allow: [{ host: FAR, ports: [port] }, ...more] });

async function run(c, sessionId, command) {
  const from = c.updates.length;

  await c.prompt(sessionId, `run ${command.replaceAll(';', '\\;')}`);
  const [, code, text] = /^run:(-?\d+):([^]*)$/.exec(c.chunks(sessionId, from).filter((line) => line.startsWith('run:')).join(''));
  return { code: Number(code), text: text.trim() };
}
const curl = (url, ...options) => `curl -sS -m 10 ${options.join(' ')} ${url} 2>&1`;
const blocked = (c, sessionId) => c.messages.filter((m) => m.method === '_acpd/event' && m.params.sessionId === sessionId && m.params.event?.event === 'network_blocked')
  .map((m) => m.params.event);

for (const [wall, flags, skip] of [['namespace', {}, false], ['nftables', { agentUser: 'nobody' }, !isRoot && 'not root']])
  describe(`behind ${wall}`, { skip }, () => {
    let d, c;

    before(async () => {
      d = await Daemon.start({ flags: { upstreamAllow: FAR, ...flags }, stub: { args: ['--resume'], capabilities: { loadSession: true } } });
      c = await d.client();
    });
    after(() => endInOrder(d));
    // One at a time: behind nftables sessions of one user have one network.
    const open = async (t, network, { by = c, ...meta } = {}) => {
      const { sessionId, _meta } = await by.newSession({ meta: { network, ...meta } });

      t.after(() => by.call('session/close', { sessionId }));
      const { achieved, previews } = _meta.acpd.network;

      assert.deepEqual([achieved, previews], meta.level?.name === 'open' ? ['namespace', false] : [wall, wall !== 'namespace']);
      return sessionId;
    };

    test('what is listed is reached through the proxy, and nothing beside it', async (t) => {
      const id = await open(t, listed());

      assert.equal((await run(c, id, curl(`http://${FAR}:${port}/`))).text, `reached ${FAR}:${port}`);
      assert.match((await run(c, id, curl(`http://${FAR}:${port}/`, '--noproxy', "'*'"))).text, /^curl: \((7|28)\)/);
      assert.match((await run(c, id, curl(`http://127.0.0.1:${d.port}/health`, '--noproxy', "'*'"))).text, /^curl: \(7\)/);
      assert.match((await run(c, id, curl('http://other.example/'))).text, /HOST_NOT_ALLOWED|not allowed/i);
      assert.match((await run(c, id, curl('http://169.254.169.254/latest'))).text, /not allowed|NOT_ALLOWED/i);
    });

    test('the first block of a host is an event', async (t) => {
      const id = await open(t, listed());

      for (let i = 0; i < 3; i++)
        await run(c, id, curl('http://blocked.example/'));
      await until(() => blocked(c, id).length, 'the event');
      assert.deepEqual(blocked(c, id).map(({ host, port: at, reason }) => ({ host, port: at, reason })), [{ host: 'blocked.example', port: 80, reason: 'HOST_NOT_ALLOWED' }]);
    });

    test('other rules hold at once, for what is under way too, and the harness goes on', async (t) => {
      const id = await open(t, listed());
      const pid = (await run(c, id, 'echo $PPID')).text;
      const set = (network) => c.call('_acpd/network/set', { sessionId: id, network });
      const from = c.updates.length;
      const slow = c.startPrompt(id, `run ${curl(`http://${FAR}:${port}/slow`)}`);

      await until(async () => (await new Promise((done) => server.getConnections((_, n) => done(n)))) > 0, 'the call');
      const { _meta } = await set({ mode: 'off' });
      assert.equal(_meta.acpd.network.mode, 'off');
      await slow.answer;
      assert.match(c.chunks(id, from).join(''), /^run:(18|52|56):/, 'the call was cut off before its own limit of time, which is 28');
      assert.match((await run(c, id, curl(`http://${FAR}:${port}/`))).text, /NOT_ALLOWED|not allowed/i);
      await set(listed());
      assert.equal((await run(c, id, curl(`http://${FAR}:${port}/`))).text, `reached ${FAR}:${port}`);
      assert.equal((await run(c, id, 'echo $PPID')).text, pid, 'the same harness');
    });

    for (const level of ['open', 'guarded'])
      test(`other rules end a tunnel that they do not allow, and keep one that they do: ${level}`, async (t) => {
        const id = await open(t, listed(), { level: { name: level, atLeast: false } });
        const set = (network) => c.call('_acpd/network/set', { sessionId: id, network });
        const tunnel = async () => {
          const asked = once(server, 'request');
          const { answer } = c.startPrompt(id, `run ${curl(`http://${FAR}:${port}/slow`, '--proxytunnel')}`);
          const [, res] = await asked;

          return { answer, res, text: async (from = c.updates.length) => (await answer, c.chunks(id, from).join('')) };
        };
        const kept = await tunnel(), told = kept.text();

        await set(listed({ host: 'other.example' }));
        kept.res.end('to its end');
        assert.match(await told, /^run:0:begun to its end/);
        const cut = await tunnel(), over = once(cut.res, 'close'), said = cut.text();

        await set({ mode: 'off' });
        await over;
        assert.match(await said, /^run:(18|52|56):/);
      });

    test('a yes of the driver opens a host for the session; a no keeps it shut', async (t) => {
      const asked = [];
      const answers = { [FAR]: 'allow', 'other.example': 'reject' };
      const driver = await d.client();

      driver.onPermission(({ toolCall }) => {
        asked.push(toolCall.rawInput.host);
        return answers[toolCall.rawInput.host];
      });
      const id = await open(t, { mode: 'allowlist', ask: true }, { by: driver });
      assert.equal((await run(driver, id, curl(`http://${FAR}:${port}/`))).text, `reached ${FAR}:${port}`);
      assert.equal((await run(driver, id, curl(`http://${FAR}:${port}/`))).text, `reached ${FAR}:${port}`);
      assert.match((await run(driver, id, curl('http://other.example/'))).text, /DENIED|denied|not allowed/i);
      assert.deepEqual(asked, [FAR, 'other.example']);
      const { _meta } = await driver.load(id);

      assert.deepEqual(_meta.acpd.network.allow, [{ host: FAR }, { host: FAR, ports: [port] }]);
    });

    test('bytes are counted by host', async (t) => {
      const id = await open(t, listed());

      await run(c, id, curl(`http://${FAR}:${port}/`));
      await until(async () => {
        const { sessions } = await c.call('_acpd/status', {});
        const counted = sessions.find((s) => s.sessionId === id).network.traffic?.find((row) => row.host === FAR);

        return counted?.up > 50 && counted?.down > 50;
      }, 'the count');
    });
  });

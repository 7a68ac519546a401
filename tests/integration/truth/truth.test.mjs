// SPDX-License-Identifier: Apache-2.0
// Every sentence of an answer that claims something is held against the fact: the file system, /proc, what the receiver really got. Each row
// makes its claim true and false. claims.mjs has the whole list, most of it held by other tests; the last checks hold that list itself.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathOf } from '../../lib/archives.mjs';
import { Daemon, endInOrder, ROOT } from '../../lib/daemon.mjs';
import { draftOf, run, turn as draft } from '../../lib/drafts.mjs';
import { gate } from '../../lib/gate.mjs';
import { STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import * as procs from '../../lib/procs.mjs';
import { AGENT } from '../../lib/users.mjs';
import { upload, newCwd } from '../../lib/workspace.mjs';
import { Receiver, told } from '../outbox/rig.mjs';
import { acpdSync } from '../run.mjs';
import { claims, described } from './api-claims.mjs';
import { BOOLEANS, OTHERS, OWN, WORKED } from './claims.mjs';

const IS_ROOT = process.getuid() === 0;
const KEY = 'sk-truth-0123456789abcdef';

let d, c, tools;
before(async () => {
  tools = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-truth-'));
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER, { id: 'comes-and-goes', command: path.join(tools, 'agent') }] });
  c = await d.client();
});
after(async () => {
  await endInOrder(d, c);
  fs.rmSync(tools, { recursive: true });
});

const json = async (where, of = d) => (await of.http(where, { token: of.token })).json;
const pidOf = async (sessionId, client = c) => (await client.call('_acpd/status', { sessionId })).sessions[0].pid;

const ROWS = {
  'keyExposed: a process of the agent has the key': async () => {
    const provider = (via, more) => ({ provider: { api: 'openai-chat', via, ...more } });
    const rows = [
      ['environment', { ...provider('environment', { key: KEY, baseUrl: 'http://127.0.0.1:9/v1' }) }, true],
      ['direct', { ...provider('direct', { key: KEY, baseUrl: 'https://models.example/v1' }) }, false],
      ['direct, with a key of its own', { ...provider('direct', { key: 'sk-another-0123456789', baseUrl: 'https://models.example/v1' }), env: { OPENAI_API_KEY: KEY } }, true],
    ];

    for (const [what, meta, exposed] of rows) {
      const { sessionId, _meta } = await c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, ...meta } });
      const pid = await pidOf(sessionId);
      const has = [pid, ...procs.descendants(pid).map((p) => p.pid)].some((p) => (procs.text(p, 'environ') ?? '').includes(KEY));

      assert.deepEqual([has, _meta.acpd.provider.keyExposed], [exposed, exposed], what);
      await c.call('session/delete', { sessionId });
    }
  },

  'installed: the program can be started': async () => {
    const file = path.join(tools, 'agent');
    const states = [
      ['no file', () => fs.rmSync(file, { recursive: true, force: true }), false],
      ['a file that may not be run', () => fs.writeFileSync(file, '#!/bin/sh\n', { mode: 0o644 }), false],
      ['a program', () => fs.chmodSync(file, 0o755), true],
      ['a directory', () => { fs.rmSync(file); fs.mkdirSync(file); }, false],
      ['gone again', () => fs.rmSync(file, { recursive: true }), false],
    ];

    for (const [what, make, is] of states) {
      make();
      const of = (list) => list.find((h) => h.id === 'comes-and-goes').installed;
      const said = {
        list: of((await c.call('_acpd/harness/list')).harnesses), info: of((await json('/v1/info')).harnesses), ready: of((await json('/ready')).harnesses),
        doctor: of(JSON.parse(acpdSync(['doctor', '--json', '--run-dir', d.runDir, '--state', d.stateDir, '--harness-config', d.harnessFile]).stdout).daemon.harnesses),
        command: of(JSON.parse(acpdSync(['harness', 'list', '--json', '--harness-config', d.harnessFile]).stdout).harnesses),
      };

      assert.deepEqual(said, { list: is, info: is, ready: is, doctor: is, command: is }, what);
    }
  },

  'pinned: a session needs the archive': async () => {
    const digest = await upload(d, { 'a.txt': 'truth' });
    const pinned = async () => (await json('/v1/archives')).archives.find((a) => a.digest === digest)?.pinned;
    const remove = () => acpdSync(['archive', 'rm', digest, '--json', '--url', `http://127.0.0.1:${d.port}`, '--token-file', d.tokenFile]);
    const there = async () => (await d.http(pathOf(digest), { method: 'HEAD', token: d.token })).status === 200;

    assert.equal(await pinned(), false);
    const { sessionId } = await c.newSession({ cwd: newCwd(d), meta: { workspace: { archive: digest } } });
    const now = await pinned(), refused = remove();

    assert.deepEqual([now, refused.status !== 0, await there()], now ? [true, true, true] : [false, false, false], 'pinned: it cannot be removed');
    await c.call('session/delete', { sessionId });
    if (await there()) {
      assert.equal(await pinned(), false);
      assert.deepEqual(JSON.parse(remove().stdout).removed, true);
    }
    assert.equal(await there(), false);
    assert.notEqual(remove().status, 0, 'what is not there is not removed');
  },

  'busy: a turn runs': async () => {
    const { sessionId } = await c.newSession(), held = gate(d);
    const busy = async () => [(await c.call('_acpd/status')).daemon?.busy, (await json('/v1/status')).busy];
    const idle = await busy();
    const turn = c.startPrompt(sessionId, `echo begun; ${held.step}`);

    await c.waitUpdate((u) => u.update.content?.text === 'begun');
    const during = await busy();
    held.open();
    await turn.answer;
    const then = await busy();
    for (const [i, one] of during.entries())
      assert.deepEqual([idle[i], one, then[i]], one === undefined ? [undefined, undefined, undefined] : [false, true, false]);
    assert.ok(during.includes(true));
  },

  'draft.on: what the agent writes is not in the workspace': async () => {
    const cwd = newCwd(d);
    const { sessionId, ...answer } = await c.newSession({ cwd });
    const written = async (name) => {
      await run(c, sessionId, `printf x > ${name}`);
      return fs.existsSync(path.join(cwd, name));
    };

    assert.deepEqual([draftOf(answer)?.on ?? false, await written('first')], [false, true]);
    assert.deepEqual([(await draft(c, sessionId, true)).draft.on, await written('second')], [true, false]);
    assert.deepEqual([(await draft(c, sessionId, false, { discard: true })).draft.on, await written('third')], [false, true]);
    assert.ok(!fs.existsSync(path.join(cwd, 'second')));
  },

  'retryable: the same prompt sent again': async () => {
    const { sessionId } = await c.newSession(), flag = path.join(d.workDir, 'once');
    const once = `run [ -e ${flag} ] || { touch ${flag}\\; kill -9 $PPID\\; }; echo well`;
    const failed = async (text) => (await c.startPrompt(sessionId, text).answer).error?.data.turn.retryable;

    assert.deepEqual([await failed(once), await failed(once)], [true, undefined]);
    assert.deepEqual([await failed('error -32000 no'), await failed('error -32000 no')], [false, false]);
  },

  'more: records follow': async () => {
    const lines = () => fs.readFileSync(path.join(d.stateDir, 'usage.jsonl'), 'utf8').trim().split('\n').length;
    const { sessionId } = await c.newSession();
    let since = 0, n = 0, more = true;

    await c.prompt(sessionId, 'echo x');
    for (; more; { last: since, more } = await c.call('_acpd/usage', { since }))
      n += (await c.call('_acpd/usage', { since })).records.length;
    assert.equal(n, lines());
  },

  'configVersion: as the session was given it, in the webhook of each turn': async (t) => {
    const r = await Receiver.start(t), own = await told(t, [r]), client = await own.client();

    for (const [i, given] of ['c-12', undefined].entries()) {
      const { sessionId } = await client.newSession({ meta: given ? { configVersion: given } : {} });

      await client.prompt(sessionId, 'echo x');
      await client.startPrompt(sessionId, 'error -32000 no').answer;
      await r.until(2 * i + 2);
      assert.deepEqual(r.of('turn.ended', sessionId).map((m) => m.data.configVersion), [given, given]);
    }
    await endInOrder(own, client);
  },

  'isolation: as whom agents run, and whether they may become more': async (t) => {
    const kinds = [[{}, true], ...IS_ROOT ? [[{ agentUser: AGENT }, false], [{ agentUser: AGENT, level: 'open' }, false]] : []];

    for (const [flags, ownUser] of kinds) {
      const own = await Daemon.startFor(t, { flags }), client = await own.client();
      const { isolation } = await json('/ready', own);
      const sessions = [await client.newSession(), await client.newSession()];
      const agents = await Promise.all(sessions.map(async (s) => procs.status(await pidOf(s.sessionId, client))));
      const uids = agents.map((a) => Number(a.Uid.split(/\s+/)[0])), what = JSON.stringify(flags);

      assert.deepEqual([isolation.daemonUser, uids.every((uid) => uid === process.getuid())], [ownUser, ownUser], what);
      assert.equal(isolation.sharedUser, new Set(uids).size === 1, what);
      assert.deepEqual(sessions.map((s) => s._meta.acpd.user?.uid ?? 'shared'), ['shared', 'shared'], what);
      assert.ok(!isolation.noNewPrivileges || agents.every((a) => a.NoNewPrivs.trim() === '1'), what);
      if (flags.agentUser)
        assert.equal(isolation.noNewPrivileges, agents.every((a) => a.NoNewPrivs.trim() === '1'), what);
      await endInOrder(own, client);
    }
  },
};

describe('each claim, made true and made false', () => {
  for (const [what, row] of Object.entries(ROWS))
    test(what, row);
});

describe('the list', () => {
  const held = { ...BOOLEANS, ...OTHERS };

  test('every yes-or-no that the API describes for an answer has a row, and every row is described', () => {
    assert.deepEqual(Object.keys(BOOLEANS).sort(), claims());
    assert.deepEqual(Object.keys(OTHERS).filter((claim) => !described(claim)), []);
  });

  test('every test that a row names exists', () => {
    const gone = [...Object.entries(held).flatMap(([claim, by]) => by.map((one) => [claim, ...one])), ...WORKED.map((one) => ['', ...one])]
      .filter(([, file, title]) => {
        if (file === OWN)
          return !(title in ROWS);
        const at = path.join(ROOT, 'tests', file);

        return !fs.existsSync(at) || !fs.readFileSync(at, 'utf8').includes(title);
      });

    assert.deepEqual(gone, []);
    assert.deepEqual(Object.entries(held).filter(([, by]) => !by.length), []);
  });
});

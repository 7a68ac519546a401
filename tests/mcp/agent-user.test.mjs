// SPDX-License-Identifier: Apache-2.0
// A daemon that is root and starts harnesses as another user: that user's are the sockets of its sessions, and as that user run the built-in
// tools and what is hosted. Nobody else gets in.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { FIXTURE } from '../lib/mcp.mjs';
import { givenServers, RawOrchestrator, startShim } from '../lib/mcp-orchestrators.mjs';
import * as procs from '../lib/procs.mjs';
import { patience } from '../lib/rawws.mjs';
import { isRoot, newCwd } from '../lib/workspace.mjs';

const USER = 'nobody', STRANGER = 4711, ROOTS_GROUP = 4712;
const uid = Number(spawnSync('id', ['-u', USER]).stdout);
const gid = Number(spawnSync('id', ['-g', USER]).stdout);
const MODERN = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'runCommand' };

describe('the agent user', { skip: !isRoot && 'not root' }, () => {
  let d, o, session, cwd, given;

  before(async () => {
    const groups = process.getgroups();

    process.setgroups([ROOTS_GROUP]); // the daemon has it, too
    d = await Daemon.start({ flags: { agentUser: USER } });
    process.setgroups(groups);
    o = await RawOrchestrator.connect(d);
    cwd = newCwd(d);
    fs.chownSync(cwd, uid, gid);
    fs.writeFileSync(path.join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { project: { command: FIXTURE } } }));
    fs.chmodSync(path.join(cwd, '.mcp.json'), 0o644);
    session = await o.newSession({ cwd, meta: { mcp: { builtin: true, project: true } } });
    given = Object.fromEntries((await givenServers(o.client, session.sessionId)).map((s) => [s.name, s]));
  });
  after(() => endInOrder(d, o?.client));

  const socket = () => given.acpd.env.find((e) => e.name === 'ACPD_MCP_SOCKET').value;
  const shim = async (t, name, who) => {
    const c = startShim(given[name], { uid: who, gid: who === 0 ? 0 : gid });

    t.after(() => c.kill());
    await c.initialize();
    return c;
  };
  const overHttp = async (where) => {
    const params = { name: 'runCommand', arguments: { command: 'id -u' },
      _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } };
    const said = await d.http(where, { token: d.token, method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...MODERN },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) });

    return said.body;
  };

  test('the socket is that user\'s, in a directory that is root\'s and can only be passed through', () => {
    const s = fs.statSync(socket()), dir = fs.statSync(path.dirname(socket()));

    assert.deepEqual([s.uid, s.gid, s.mode & 0o777], [uid, gid, 0o600]);
    assert.deepEqual([dir.uid, dir.mode & 0o777], [0, 0o711]);
  });

  test('the shim of that user connects, to each kind of server', async (t) => {
    for (const name of ['tools', 'acpd', 'project']) {
      const c = await shim(t, name, uid);

      assert.ok((await c.request('tools/list')).msg.result.tools.length > 0, name);
    }
  });

  test('another user does not, with the right key', () => {
    const env = Object.fromEntries(given.acpd.env.map(({ name, value }) => [name, value]));
    const { status, stdout, stderr } = spawnSync(given.acpd.command, given.acpd.args, { env, uid: STRANGER, gid: STRANGER, input: '', timeout: patience(10000) });

    assert.notEqual(status, 0);
    assert.equal(stdout.length, 0);
    assert.match(stderr.toString(), /Permission denied/);
  });

  test('nor when the socket\'s mode would let it: the peer is looked at, too', (t) => {
    const env = Object.fromEntries(given.acpd.env.map(({ name, value }) => [name, value]));
    const mode = fs.statSync(socket()).mode & 0o777;

    fs.chmodSync(socket(), 0o666);
    t.after(() => fs.chmodSync(socket(), mode));
    const { stdout } = spawnSync(given.acpd.command, given.acpd.args, { env, uid: STRANGER, gid: STRANGER, timeout: patience(10000),
      input: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n' });

    assert.equal(stdout.toString(), '');
  });

  test('the built-in tools run as that user, in the session and for /mcp alone', async (t) => {
    const c = await shim(t, 'acpd', uid);
    const { msg } = await c.request('tools/call', { name: 'runCommand', arguments: { command: 'id -u; id -G; touch made' } });

    assert.equal(msg.result.content[0].text, `${uid}\n${gid}\n[exit code 0]\n`);
    assert.equal(fs.statSync(path.join(cwd, 'made')).uid, uid);
    assert.match(await overHttp(`/mcp?session=${session.sessionId}`), new RegExp(`"stdout":"${uid}\\\\n"`));
    assert.match(await overHttp('/mcp'), new RegExp(`"stdout":"${uid}\\\\n"`));
  });

  test('so does every process below the daemon, without root\'s groups or capabilities', () => {
    const below = d.harnesses();
    const field = (pid, name) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(procs.text(pid, 'status'))[1].trim();

    assert.equal(field(d.pid, 'Groups'), String(ROOTS_GROUP));
    assert.ok(below.length >= 4, 'harness, tools of the session, tools of /mcp, the project\'s server');
    for (const p of below) {
      const of = (name) => field(p.pid, name);

      assert.deepEqual(of('Uid').split('\t').map(Number), [uid, uid, uid, uid], `${p.pid} ${p.comm}`);
      assert.deepEqual(of('Gid').split('\t').map(Number), [gid, gid, gid, gid]);
      assert.ok(of('Groups').split(' ').every((g) => g === '' || Number(g) === gid), of('Groups'));
      assert.match(of('CapEff'), /^0+$/);
    }
  });

  test('and none of them has a descriptor of the daemon\'s', () => {
    for (const p of d.harnesses()) {
      for (const to of procs.descriptors(p.pid))
        assert.ok(!to.startsWith(d.stateDir) || to.startsWith(path.join(d.stateDir, 'homes')), `${p.comm}: ${to}`);
    }
  });
});

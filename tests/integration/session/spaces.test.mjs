// SPDX-License-Identifier: Apache-2.0
// Level strict: what a session sees of the machine, of the daemon and of other sessions, what it can write, and that its tools and its harness
// are in the same place; as root, as another user than the daemon, and where the daemon itself is not root.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { othersHaveNamespaces, rootHasNamespaces } from '../../lib/namespaces.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';

const OPTIONS = { stub: { args: ['--resume', '--additional-dirs'], capabilities: { loadSession: true, sessionCapabilities: { additionalDirectories: {} } } } };
const STRICT = { level: { name: 'strict', atLeast: false } };
const PLAIN = 'a daemon without privileges';
const KINDS = [
  ['a daemon that is root', () => Daemon.start(OPTIONS), rootHasNamespaces],
  ['--agent-user', () => Daemon.start({ ...OPTIONS, flags: { agentUser: 'nobody' } }), rootHasNamespaces],
  [PLAIN, () => startPlain(OPTIONS), othersHaveNamespaces],
];
const harnessesOf = (id) => procs.withEnv((env) => env.ACPD_SESSION === id).filter(procs.alive);
const inits = (d) => procs.list().filter((p) => p.ppid === d.pid && procs.alive(p) && p.comm === 'acpd-init');

// What a command of the agent prints.
async function run(c, sessionId, command) {
  const from = c.updates.length;

  await c.prompt(sessionId, `run ${command.replaceAll(';', '\\;')}`);
  return /^run:-?\d+:([^]*)$/.exec(c.chunks(sessionId, from).join(''))[1].trim();
}

async function tool(d, sessionId, command) {
  const call = await new McpHttp(d, `/mcp?session=${sessionId}`).modern('tools/call', { name: 'runCommand', arguments: { command } });

  return JSON.stringify((await call.over()).answer.result);
}

const writes = (...files) => `for f in ${files.join(' ')}; do (echo >>$f) 2>/dev/null && echo "$f yes" || echo "$f no"; done`;

for (const [kind, start, works] of KINDS) {
  describe(kind, { skip: !works && 'no namespaces, or not root' }, () => {
    let d, c, cwd;
    const open = (more = {}) => c.newSession({ cwd, ...more, meta: { ...STRICT, mcp: { builtin: true }, ...more.meta } });

    before(async () => {
      d = await start();
      c = await d.client();
      cwd = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-strict-'));
      fs.chmodSync(cwd, 0o777);
    });
    after(async () => {
      await endInOrder(d, c);
      dropPlain(d);
      fs.rmSync(cwd, { recursive: true, force: true });
    });

    test('an abstract UNIX socket is reached by its own session and by no other; at guarded by others, too', async () => {
      const python = (code) => `/usr/bin/python3 -c "import socket; s = socket.socket(socket.AF_UNIX); ${code}"`;

      for (const [name, others] of [['strict', 'ConnectionRefusedError'], ['guarded', 'reached']]) {
        const meta = { level: { name, atLeast: false } };
        const [one, other] = [(await open({ meta })).sessionId, (await open({ meta })).sessionId];
        const listens = path.join(cwd, `listens-${name}`), address = `chr(0) + '${one}'`;
        const reach = (id) => run(c, id, `${python(`s.connect(${address}); print('reached')`)} 2>&1 | tail -n 1 | cut -d: -f1`);

        await run(c, one, `${python(`s.bind(${address}); s.listen(); open('${listens}', 'w'); held = [s.accept() for i in range(9)]`)} >/dev/null 2>&1 &`);
        await until(() => fs.existsSync(listens), 'somebody listens');
        assert.deepEqual([await reach(one), await reach(other)], ['reached', others], name);
        for (const sessionId of [one, other])
          await c.call('session/close', { sessionId });
      }
    });

    test('nothing of the namespaces is missing', async () => {
      const { sessionId, _meta } = await open();
      const { missing } = _meta.acpd.level;
      const pieces = missing.map(({ what }) => what);

      assert.deepEqual(pieces.filter((what) => /Namespace|Mount|init/.test(what)), []);
      assert.equal(pieces.includes('uid'), kind !== PLAIN);
      await c.call('session/close', { sessionId });
    });

    test('it writes in its workspace, its home and its temporary files, and nowhere else', async () => {
      const { sessionId: id } = await open();
      const home = path.join(d.stateDir, 'homes', id);

      assert.equal(await run(c, id, writes('in-cwd', '$HOME/f', '$TMPDIR/f', '/tmp/f', '/var/tmp/g', '/dev/shm/f')),
        `in-cwd yes\n${home}/f yes\n${home}/tmp/f yes\n/tmp/f yes\n/var/tmp/g yes\n/dev/shm/f yes`);
      assert.ok(fs.existsSync(path.join(cwd, 'in-cwd')));
      assert.ok(!fs.existsSync('/tmp/f') && !fs.existsSync('/var/tmp/g'));
      assert.equal(await run(c, id, writes('/etc/f', '/usr/f', '/f', '/root/f', '/dev/f', '/proc/sys/kernel/domainname')),
        '/etc/f no\n/usr/f no\n/f no\n/root/f no\n/dev/f no\n/proc/sys/kernel/domainname no');
      assert.match(await run(c, id, 'touch /usr/f'), /Read-only file system/);
      await c.call('session/close', { sessionId: id });
    });

    test('it sees no other process, no other session, nothing of the daemon', async () => {
      const { sessionId: one } = await open(), { sessionId: two } = await open();

      assert.equal(await run(c, one, 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep ^ACPD_SESSION= | sort -u | grep -v cat'), `ACPD_SESSION=${one}`);
      assert.equal(await run(c, one, `cd ${d.stateDir}; ls -d sessions lock homes homes/${two} homes/${one} 2>/dev/null`), `homes\nhomes/${one}`);
      assert.equal(await run(c, one, `cd ${d.runDir}; ls -d control.sock acp.sock mcp mcp/${two} mcp/${one} mcp/${one}/sock 2>/dev/null`), `mcp\nmcp/${one}\nmcp/${one}/sock`);
      // of homes only what PATH names
      for (const home of ['/root', '/home'])
        for (const name of (await run(c, one, `ls -A ${home}`)).split('\n').filter(Boolean))
          assert.ok(process.env.PATH.split(':').some((dir) => dir.startsWith(path.join(home, name))), `${home}/${name}`);
      assert.equal(await run(c, one, 'cat /proc/1/comm; kill -9 1; echo still'), 'acpd-init\nstill');
      for (const sessionId of [one, two])
        await c.call('session/close', { sessionId });
    });

    test('its tools are in the same place, and come over its socket', async () => {
      const { sessionId: id } = await open();
      const from = c.updates.length;
      await c.prompt(id, 'getparams');
      const { command, args, env } = JSON.parse(c.chunks(id, from).join('')).mcpServers.find(({ name }) => name === 'acpd');
      const lines = [{ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'inside', version: '0' } } },
        { method: 'notifications/initialized' }, { id: 2, method: 'tools/call', params: { name: 'runCommand', arguments: { command: 'cat /tmp/seen; echo $(pwd)' } } }]
        .map((m) => `'${JSON.stringify({ jsonrpc: '2.0', ...m })}'`);

      assert.equal(await run(c, id, 'echo by-harness >/tmp/seen'), '');
      assert.match(await tool(d, id, 'cat /tmp/seen; readlink /proc/self/ns/mnt'), new RegExp(`by-harness.*${await run(c, id, 'readlink /proc/self/ns/mnt | tr -dc 0-9')}`));
      const shim = await run(c, id, `out=$TMPDIR/said; : >$out; (printf '%s\\n' ${lines.join(' ')}; until grep -q '"id":2' $out; do sleep 0.02; done) | ` +
        `env ${env.map(({ name, value }) => `${name}='${value}'`).join(' ')} ${command} ${args.join(' ')} >$out; cat $out`);
      assert.match(shim, /by-harness/);
      await c.call('session/close', { sessionId: id });
    });

    test('it is the same place while harnesses come and go, another with other directories, and gone with the session', async () => {
      await until(() => inits(d).length === 0, 'what runs for closed sessions to be gone');
      const { sessionId: id } = await open();
      const where = () => run(c, id, 'readlink /proc/self/ns/mnt');
      const more = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-strict-more-'));
      fs.chmodSync(more, 0o777);

      await c.prompt(id, 'echo begun');
      const first = await where();
      assert.equal(inits(d).length, 1);
      await run(c, id, '(setsid sleep 1000 >/dev/null 2>&1 &)');
      await assert.rejects(c.prompt(id, 'crash exit 3'));
      assert.equal(await where(), first);
      const [init] = inits(d);
      process.kill(init.pid, 'SIGKILL');
      await until(() => inits(d).length === 0, 'init to end');
      await until(() => c.prompt(id, 'echo again').then(() => true, () => false), 'a harness in new ones');
      assert.notEqual(inits(d)[0].pid, init.pid);
      assert.match(await run(c, id, `touch ${more}/f`), /Read-only|No such file/);
      await c.load(id, { cwd, additionalDirectories: [more], meta: STRICT });
      assert.equal(await run(c, id, `touch ${more}/f && echo done`), 'done');
      const all = harnessesOf(id);
      await c.call('session/close', { sessionId: id });
      await until(() => inits(d).length === 0 && !all.some(procs.alive), 'all of the session to be gone');
      fs.rmSync(more, { recursive: true });
    });

    test('a workspace that is all of the machine, or the daemon\'s own, is refused', async () => {
      await assert.rejects(open({ cwd: '/' }), (e) => e.data.reason === 'CONFINEMENT_UNSUPPORTED' && /read-only/.test(e.message));
    });

    test('a killed daemon leaves nothing, and the next one goes on', async () => {
      const { sessionId: id } = await open();

      await c.prompt(id, 'echo begun');
      const [init] = inits(d), all = harnessesOf(id);
      await d.kill9();
      await until(() => ![init, ...all].some(procs.alive), 'all to be gone');
      await d.restart();
      c = await d.client();
      await c.load(id, { cwd, meta: STRICT });
      assert.equal(await run(c, id, 'cat /proc/1/comm'), 'acpd-init');
      await c.call('session/close', { sessionId: id });
    });
  });
}

// SPDX-License-Identifier: Apache-2.0
// build: both
// What processes know of the machine and of each other: loopback is never asked of a proxy, and `acpd mcp` keeps what it was given from its
// neighbours, which run as the same user.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { ACPD, Daemon, SANITIZED } from '../../lib/daemon.mjs';
import * as procs from '../../lib/procs.mjs';

const NOT_SET = { HTTP_PROXY: null, http_proxy: null, HTTPS_PROXY: null, https_proxy: null, NO_PROXY: null, no_proxy: null };
const ALL = 'localhost,127.0.0.1,::1';

describe('loopback is in NO_PROXY and no_proxy', () => {
  for (const [what, daemon, session, upper, lower] of [
    ['with a proxy of the operator and no exception', { HTTP_PROXY: 'http://proxy.test:1' }, {}, ALL, ALL],
    ['beside exceptions of the operator', { NO_PROXY: 'a.test,127.0.0.1' }, {}, 'a.test,127.0.0.1,localhost,::1', 'a.test,127.0.0.1,localhost,::1'],
    ['beside different ones in both spellings', { NO_PROXY: 'a.test', no_proxy: 'b.test' }, {}, `a.test,${ALL}`, `b.test,${ALL}`],
    ['beside those of the session', {}, { HTTP_PROXY: 'http://proxy.test:1', no_proxy: 'c.test' }, `c.test,${ALL}`, `c.test,${ALL}`],
    ['beside patterns, which not all programs understand', { NO_PROXY: 'a.test, 127.*,*' }, {}, `a.test, 127.*,*,${ALL}`, `a.test, 127.*,*,${ALL}`],
    ['unless nothing goes to a proxy', { NO_PROXY: '*' }, {}, '*', '*'],
  ]) {
    test(what, async (t) => {
      const d = await Daemon.startFor(t, { env: { ...NOT_SET, ...daemon } });
      const c = await d.client();

      await c.newSession({ meta: { env: session } });
      const env = procs.environ(d.harnesses()[0].pid);
      assert.deepEqual([env.NO_PROXY, env.no_proxy], [upper, lower]);
      await c.close();
      await d.stop();
    });
  }
});

describe('a neighbour of the same user reads neither environment nor memory of', { skip: (process.getuid() !== 0 && 'not root') || (SANITIZED && 'its leak check traces the process') }, () => {
  const nobody = 65534;

  for (const [what, args] of [['the shim', ['mcp']], ['the built-in tools', ['mcp', '--builtin', '--root', '/tmp']]]) {
    test(what, async (t) => {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-neighbour-'));
      const server = net.createServer(() => {}).listen(path.join(dir, 'door.sock'));

      fs.chmodSync(dir, 0o755);
      await once(server, 'listening');
      fs.chmodSync(path.join(dir, 'door.sock'), 0o777);
      const env = { PATH: process.env.PATH, ACPD_MCP_SOCKET: path.join(dir, 'door.sock'), ACPD_MCP_SERVER: 'x', ACPD_MCP_KEY: 'capability' };
      const p = spawn(ACPD, args, { env, uid: nobody, gid: nobody, cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
      t.after(() => {
        p.kill('SIGKILL');
        server.close();
        fs.rmSync(dir, { recursive: true });
      });
      if (what === 'the shim')
        await once(server, 'connection');
      else {
        p.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
        await once(p.stdout, 'data');
      }
      for (const file of ['environ', 'mem', 'maps', 'fd/0'])
        assert.notEqual(spawnSync('head', ['-c', '1', procs.at(p.pid, file)], { uid: nobody, gid: nobody }).status, 0, file);
    });
  }
});

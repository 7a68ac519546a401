// SPDX-License-Identifier: Apache-2.0
// build: release
// alone: it runs itself once more, in a namespace
// Real programs of an agent's shell with a network of hosts, behind each wall: git, pip, npm, curl, Python and Node find the proxy by
// their environment. Each does its work with a host that is listed, and fails with one that is not, of which the client is told.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fill } from '../../egress/registries.mjs';
import { runCommand } from '../../lib/agent-shell.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { enterNear, FAR, FarSide, farSidePossible } from '../../lib/far-side.mjs';
import { until } from '../../lib/wait.mjs';

const AGENT = 'nobody';
const UNDICI = path.resolve(import.meta.dirname, '../../node_modules/undici/index.js');
const PAGES = path.resolve(import.meta.dirname, '../../egress/registries.mjs');
const NODE = process.execPath;

const LISTED = { 'git.example': '11.22.33.21', 'wheels.example': '11.22.33.22', 'packages.example': '11.22.33.23', 'api.example': '11.22.33.24' };
const OTHERS = { 'git.other.example': '11.22.33.31', 'wheels.other.example': '11.22.33.32', 'packages.other.example': '11.22.33.33',
  'curl.other.example': '11.22.33.34', 'urllib.other.example': '11.22.33.34', 'fetch.other.example': '11.22.33.34', 'undici.other.example': '11.22.33.34' };

const has = (command) => spawnSync('setpriv', ['--reuid', AGENT, '--clear-groups', 'sh', '-c', command], { stdio: 'ignore', env: { PATH: process.env.PATH } }).status === 0;
const node = (program) => `${NODE} -e '${program.replaceAll('\n', ' ')}'`;
const said = (call) => `${call}.then((r) => r.text()).then(console.log, (e) => { console.log(String(e.cause ?? e), e.cause?.cause ?? ""); process.exit(1); })`;
const PIP = '/usr/bin/python3 -m pip';

// command for a listed host, and what it prints; other for one that is not, and how that fails.
const PROGRAMS = [
  { what: 'git', command: `git clone -q https://git.example/repo.git g && cd g && git -c user.name=a -c user.email=a@a.example commit -q --allow-empty -m first &&
git push -q origin HEAD:main && git ls-remote origin main`, prints: /refs\/heads\/main/, other: 'git clone -q https://git.other.example/repo.git h', fails: /403/ },
  { what: 'pip', needs: `${PIP} --version`, command: `${PIP} install -q --no-cache-dir -t p --retries 0 --trusted-host wheels.example -i https://wheels.example/simple/ small && PYTHONPATH=p /usr/bin/python3 -c 'import small; print(small.said)'`,
    prints: /from the index/, other: `${PIP} install -q --no-cache-dir --retries 0 -t q -i https://wheels.other.example/simple/ small`, fails: /403|No matching distribution/ },
  { what: 'npm', needs: 'npm -v', command: `mkdir n && cd n && echo {} >package.json && npm install -s --registry https://packages.example/ small && ${NODE} -p 'require("small")'`,
    prints: /from the registry/, other: 'mkdir m && cd m && echo {} >package.json && npm install --fetch-retries 0 --registry https://packages.other.example/ small', fails: /403|E403|ECONN|network/ },
  { what: 'curl', command: 'curl -sS https://api.example/', prints: /reached api/, other: 'curl -sS https://curl.other.example/', fails: /403/ },
  { what: 'urllib', command: `/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("https://api.example/").read().decode())'`, prints: /reached api/,
    other: `/usr/bin/python3 -c 'import urllib.request as u; u.urlopen("https://urllib.other.example/")'`, fails: /403/ },
  { what: 'fetch of Node', command: node(said('fetch("https://api.example/")')), prints: /reached api/, other: node(said('fetch("https://fetch.other.example/")')), fails: /403|abort/i },
  { what: 'undici', needs: `test -f ${UNDICI}`, command: node(`const u = require("${UNDICI}"); ${said('u.fetch("https://api.example/", { dispatcher: new u.EnvHttpProxyAgent() })')}`),
    prints: /reached api/, other: node(`const u = require("${UNDICI}"); ${said('u.fetch("https://undici.other.example/", { dispatcher: new u.EnvHttpProxyAgent() })')}`), fails: /403|abort/i },
];

const inside = enterNear(import.meta.filename);

if (inside) describe('real programs with a network of hosts', { skip: !farSidePossible && 'no namespaces, ip or nft' }, () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-far-'));
  let far, d, c;

  before(async () => {
    const addresses = { ...LISTED, ...OTHERS };

    fs.chmodSync(dir, 0o755);
    fill(dir, (...command) => execFileSync(...command, { stdio: 'pipe' }));
    far = await FarSide.start({ dir, names: Object.fromEntries(Object.entries(addresses).map(([name, a]) => [name, [a]])), hosts: Object.keys(addresses), pages: PAGES });
    d = await Daemon.start({ flags: { agentUser: AGENT } });
    c = await d.client();
    await far.ask('forget');
    far.senders();
  });
  after(async () => {
    await endInOrder(d, c);
    far?.stop();
    fs.rmSync(dir, { recursive: true });
  });

  for (const [wall, level] of [['nftables', 'guarded'], ['namespace', 'strict']])
    describe(`${wall}, level ${level}`, () => {
      let id;

      before(async () => {
        const cwd = fs.mkdtempSync(path.join(d.workDir, 'p-'));
        const ca = path.join(cwd, 'ca.pem'); // in strict it sees no other place of ours
        const env = { GIT_SSL_CAINFO: ca, npm_config_cafile: ca, NODE_EXTRA_CA_CERTS: ca, SSL_CERT_FILE: ca, CURL_CA_BUNDLE: ca, GIT_TERMINAL_PROMPT: '0',
          NODE_NO_WARNINGS: '1', npm_config_update_notifier: 'false', npm_config_audit: 'false',
          PIP_DISABLE_PIP_VERSION_CHECK: '1' };

        fs.chmodSync(cwd, 0o777);
        fs.copyFileSync(path.join(dir, 'ca.pem'), ca);
        const { sessionId, _meta } = await c.newSession({ cwd,
          meta: { env, network: { mode: 'allowlist', allow: Object.keys(LISTED).map((host) => ({ host })) }, level: { name: level, atLeast: false } } });

        id = sessionId;
        assert.equal(_meta.acpd.network.achieved, wall);
      });

      for (const { what, needs, command, prints, other, fails } of PROGRAMS)
        test(what, { skip: needs && !has(needs) && `${needs} is not installed` }, async () => {
          const works = await runCommand(c, id, command.replaceAll('\n', ' '));

          assert.match(works.text, prints);
          assert.equal(works.code, 0);
          const not = await runCommand(c, id, other);

          assert.notEqual(not.code, 0, not.text);
          assert.match(not.text, fails);
          const host = /[a-z]+\.other\.example/.exec(other)[0];

          await until(() => c.messages.some(({ params: p }) => p?.sessionId === id && p.event?.event === 'network_blocked' && p.event.host === host), `${host} is told of`);
        });
    });

  test('only listed hosts were called, and only by acpd-proxy', async () => {
    const senders = far.senders();

    for (const address of await far.ask('seen'))
      assert.ok([`${FAR.v4}:53`, ...Object.values(LISTED).map((a) => `${a}:443`)].includes(address), address);
    assert.equal(Object.keys(senders).length, 1, JSON.stringify(senders));
    assert.equal(senders[65534], undefined);
  });
});

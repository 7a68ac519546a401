// SPDX-License-Identifier: Apache-2.0
// What has to hold in a booted image, whoever has made it: a Debian root with the steps of e2b.Dockerfile (boot.test.mjs), or the image itself
// (image.test.mjs). Registers its tests; to be called once in a file.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startModelServer } from '../harness/model-server.mjs';
import { HARNESSES } from '../harness/programs.mjs';
import { KEY, Orchestrator, textOf, tunnelTo } from '../harness/rig.mjs';
import { until } from '../lib/wait.mjs';
import { readUnit } from '../e2b/unit-file.mjs';
import { SLOW } from '../lib/rawws.mjs';
import { Guest } from './guest.mjs';
import { CONFIGURE } from './platform.mjs';
import { TOP } from './places.mjs';

const TRIES = fs.readFileSync(path.join(import.meta.dirname, 'tries.sh'), 'utf8');
const { Service } = readUnit(fs.readFileSync(path.join(TOP, 'images/acpd.service'), 'utf8'));
const setting = (name) => Service.Environment.find((item) => item.startsWith(`${name}=`)).slice(name.length + 1);
const [FIRST] = setting('ACPD_AGENT_UIDS').split('-').map(Number);

const answers = (text) => Object.fromEntries(text.trim().split('\n').map((line) => line.split(' ')));
// Of a process of the same user that no_new_privs does not hold.
const closed = { su: 'no', 'su-and-sudo': 'no', sudo: 'no', ssh: 'no', 'ssh-and-sudo': 'no', polkit: 'no', systemd: 'no', at: 'job', cron: 'job',
  unit: 'no' };
const open = { ...closed, su: '0', 'su-and-sudo': '0', ssh: '0', 'ssh-and-sudo': '0', at: '0' };
// Of the shell of an agent: it does not even reach the queues of jobs.
const agents = { ...closed, at: 'no', cron: 'no' };

// What the ways to root give a user of sessions, outside of any session.
function tryAsUser(guest) {
  guest.ask(`rm -rf /tmp/tries && install -d -o ${FIRST} /tmp/tries && crontab -u agent-${FIRST} -r; true`);
  fs.writeFileSync(guest.file('/tmp/tries/tries.sh'), TRIES);
  return answers(guest.ask('cd /tmp/tries && HOME=/tmp/tries sh tries.sh', { user: FIRST }));
}

const keyMemory = (guest) => JSON.parse(guest.exec('/opt/acpd/bin/acpd doctor --json').stdout).findings.find((f) => f.id === 'key-memory');
const emptied = (guest) => /^[^:]+::/m.test(fs.readFileSync(guest.file('/etc/shadow'), 'utf8'));

async function oneTurn(guest, model, token, harness) {
  const daemon = { url: guest.url, token };
  const o = await Orchestrator.connect(daemon, { tunnel: tunnelTo(model.url) });

  try {
    const opened = await o.request('session/new', { cwd: setting('ACPD_WORKSPACES'), mcpServers: [], _meta: { acpd: {
      harness, workspace: { ephemeral: true }, provider: { api: HARNESSES[harness].api, model: 'scripted-1' } } } });
    const { sessionId, _meta: { acpd: { cwd } } } = opened;

    o.sessions.push(sessionId);
    fs.writeFileSync(path.join(guest.file(cwd), 'tries.sh'), TRIES);
    const { stopReason } = await o.prompt(sessionId, 'RUN:sh tries.sh >said 2>&1; id -un >>said', 'TEXT:done');

    assert.deepEqual(o.violations, []);
    return { stopReason, text: textOf(o.updates(sessionId)), said: fs.readFileSync(path.join(guest.file(cwd), 'said'), 'utf8').trim().split('\n') };
  } finally {
    await o.close();
  }
}

// root(): a promise of the root file system to be booted, in which the steps have been run.
export function checkBooted(root) {
  let guest, model;
  const token = randomBytes(32).toString('base64url');

  before(async () => {
    model = await startModelServer({ key: KEY });
    const files = await root();

    // a guest of nspawn has no controllers of cgroups, without which guarded cannot be had whole: what is had of it is enough here
    fs.writeFileSync(path.join(files, 'etc/acpd/acpd.env'), 'ACPD_LEVEL_MIN=open\n', { mode: 0o600 });
    guest = await Guest.boot(files, { memlock: false });
  });
  after(async () => {
    await guest?.stop();
    await model?.close();
  });

  test('boots without a network: the unit has started the daemon, which waits to be claimed', async (t) => {
    t.diagnostic(`boot to /health ${guest.health.toFixed(2)} s`);
    for (const unit of ['acpd.service', 'acpd-logins.path']) {
      assert.equal(guest.ask(`systemctl is-enabled ${unit}`), 'enabled', unit);
      assert.equal(guest.ask(`systemctl is-active ${unit}`), 'active', unit);
    }
    assert.equal(guest.ask('systemctl list-units --failed --plain --no-legend'), '');
    assert.equal((await guest.http('/ready', token)).status, 503);
    assert.equal(guest.ask('ip route show default'), '');
  });

  test('doctor reports that nspawn refuses to lock memory for keys, and what to allow', () => {
    const { level, hint } = keyMemory(guest);

    assert.deepEqual([level, /@memlock/.test(hint)], ['trouble', true], hint);
  });

  test('the ways to root that the platform opens are there, and are shut once their files change', async () => {
    guest.ask('systemctl stop acpd-logins.path');
    guest.ask(CONFIGURE);
    guest.ask('systemctl restart ssh.service');
    assert.ok(emptied(guest));
    assert.deepEqual(tryAsUser(guest), open);
    guest.ask('systemctl start acpd-logins.path');
    guest.ask('passwd -qd user');
    await until(() => !emptied(guest), 'empty passwords are locked', 20_000);
    await until(() => guest.exec('sshd -T 2>/dev/null | grep -qx "permitemptypasswords no"').status === 0, 'sshd takes no empty password', 20_000);
    await until(() => guest.exec('systemctl is-active --quiet ssh.service acpd-logins.path').status === 0, 'both run again', 20_000);
    assert.deepEqual(tryAsUser(guest), closed);
    assert.equal(guest.ask('sudo -n id -u', { user: guest.ask('id -u user') }), '0', 'the platform\'s own user keeps its sudo');
  });

  test('a cold boot later all of that holds', async (t) => {
    const before = guest.root;

    await guest.stop();
    guest = await Guest.boot(before);
    t.diagnostic(`boot to /health ${guest.health.toFixed(2)} s`);
    assert.equal(emptied(guest), false);
    assert.deepEqual(tryAsUser(guest), closed);
  });

  test('nothing that users of sessions can write is on the daemon\'s PATH, or in what boots, logs in or runs jobs', () => {
    for (const dir of setting('PATH').split(':')) {
      assert.equal(guest.ask(`for f in ${dir} ${dir}/*; do [ ! -e "$f" ] || stat -L -c '%u %A %n' "$f" "$(dirname "$(readlink -f "$f")")"; done |
        awk '$1 >= 1000 || substr($2, 6, 1) == "w" || substr($2, 9, 1) == "w"'`), '', dir);
    }
    for (const user of [FIRST, guest.ask('id -u agent')])
      assert.equal(guest.ask('find / -xdev \\( -path /proc -o -path /usr/local -o -path /tmp -o -path /var/tmp -o -path /code -o -path /dev -o -path /home/agent \\) ' +
        '-prune -o ! -type l -writable -print 2>/dev/null; true', { user }), '', `user ${user}`);
    assert.equal(guest.ask('find /opt /etc /srv /home /var/lib/acpd -xdev -perm /6000 -type f'), '', 'no setuid file of ours');
  });

  test('the programs are those of the pins, and say their versions to who asks from a shell', () => {
    const { harnesses } = JSON.parse(guest.ask('env -i PATH=/usr/bin:/bin /opt/acpd/bin/acpd harness list --json'));

    for (const id of Object.keys(HARNESSES)) {
      const h = harnesses.find((one) => one.id === id);

      assert.equal(h.installed, true, id);
      assert.ok(h.version?.endsWith(h.pin.version), JSON.stringify(h)); // Codex says its name before it
    }
  });

  test('no source map and no type file is in what npm has brought', () => {
    assert.equal(guest.ask("find /opt/acpd -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts'"), '');
  });

  test('a client outside claims it, once, and the daemon finds no way to root', async () => {
    guest.ask('/opt/acpd/bin/acpd claim', { input: token });
    assert.notEqual(guest.exec('/opt/acpd/bin/acpd claim', { input: `${token}x` }).status, 0);
    assert.equal((await guest.http('/ready', `${token}x`)).status, 401);
    const { status, body } = await guest.http('/ready', token);
    const { isolation } = JSON.parse(body);

    assert.equal(status, 200, body);
    assert.equal(keyMemory(guest).level, 'ok');
    assert.deepEqual(isolation.waysToRoot, []);
    assert.deepEqual([isolation.agentUser, isolation.noNewPrivileges, isolation.daemonUser, isolation.sharedUser], ['agent', true, false, false]);
  });

  test('the run viewer is served', async () => {
    for (const [where, what] of [['/ui', /<script defer src="app\.js"/], ['/ui/app.js', /./], ['/ui/app.css', /./]]) {
      const { status, body } = await guest.http(where);

      assert.equal(status, 200, where);
      assert.match(body, what, where);
    }
  });

  describe('a turn with a tool, by tunnel', () => {
    for (const harness of Object.keys(HARNESSES)) {
      test(`${harness}: what its shell runs does not become root`, { timeout: 600_000 * SLOW }, async () => {
        const { stopReason, text, said } = await oneTurn(guest, model, token, harness);

        assert.deepEqual([stopReason, text], ['end_turn', 'done']);
        assert.match(said.pop(), /^agent-61\d{3}$/);
        assert.deepEqual(answers(said.join('\n')), agents);
      });
    }
  });
}

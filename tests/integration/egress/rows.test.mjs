// SPDX-License-Identifier: Apache-2.0
// build: release
// alone: it runs itself once more, in a namespace
// Where an agent gets to with a network of hosts, by its own shell tool: destinations, the proxy obeyed or ignored, behind each wall. The
// daemon is on the near side of a cable, and the far side answers at every address there is, so what is not refused arrives. Each table
// is also tried without a wall, where it has to arrive.

import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../../lib/agent-shell.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { enterNear, FAR, FarSide, farSidePossible, NEAR } from '../../lib/far-side.mjs';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../lib/wait.mjs';

const ATTEMPTS = path.resolve(import.meta.dirname, '../../egress/attempts.mjs');
const AGENT = 'nobody';
const LOCAL = 8099; // a service of the machine, on its loopback and on all other addresses
const LOGINS = 22; // and one whose port no session may have

const NAMES = {
  'good.example': ['11.22.33.10'],
  'six.example': ['2a00:1::10'],
  'both.example': ['2a00:1::11', '11.22.33.11'],
  'other.example': ['11.22.33.12'],
  'port.example': ['11.22.33.13'],
  'wide.example': ['11.22.33.14'],
  'a.wide.example': ['11.22.33.15'],
  'a.b.wide.example': ['11.22.33.15'],
  'front.example': ['11.22.33.16'],
  'loop.example': ['127.0.0.1', '::1'],
  'cloud.example': ['169.254.169.254'],
  'private.example': ['10.1.2.3', '192.168.7.7', '172.16.0.9', '100.64.0.9', 'fd00::5', 'fe80::5'],
  'mapped.example': ['::ffff:a01:203', '::ffff:7f00:1', '2002:7f00:1::1', '64:ff9b::7f00:1'],
  'mixed.example': ['10.1.2.3', '11.22.33.17'],
  'near.example': [NEAR.v4, NEAR.v6],
  'rebind.example': [['11.22.33.18'], ['127.0.0.1'], ['169.254.169.254']],
  'metadata.google.internal': ['11.22.33.19'],
};
const LITERALS = ['11.22.33.5', '2a00:1::5', '10.1.2.3', '192.168.7.7', '172.16.0.9', '100.64.0.9', '169.254.1.1', '169.254.169.254', '127.0.0.1', '0.0.0.0', '::1',
  'fd00::5', 'fd00:ec2::254', '::ffff:11.22.33.5', '2002:b16:2105::1', '64:ff9b::a01:203', '203.0.113.9', '240.0.0.1', 'localhost'];
const listed = (host) => ({ host, ports: [80, 443, LOCAL] });
const ALLOW = [
  ...Object.keys(NAMES).filter((host) => !['other.example', 'port.example', 'wide.example', 'a.wide.example', 'a.b.wide.example', 'good.example'].includes(host)).map(listed),
  { host: 'good.example' }, { host: 'port.example', ports: [8080] }, { host: '*.wide.example' },
  ...LITERALS.map(listed),
];

// What came of it: "reached" is followed by the address and the Host that the server saw.
const at = (address, host, port = 80) => `reached ${address}:${port} ${host}`;
const tunnel = (target, host = target) => `CONNECT ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const get = (url, host, more = '') => `GET ${url} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

// --- the proxy obeyed: [what, attempt, what comes of it, who is told of, if it is refused after the tunnel was there]

const web = (what, url, want, ...args) => [what, { curl: [...args, url] }, want];
const OBEYED = [
  web('a listed name', 'http://good.example/', at('11.22.33.10', 'good.example')),
  web('over TLS', 'https://good.example/', at('11.22.33.10', 'good.example', 443)),
  web('over IPv6', 'https://six.example/', at('2a00:1::10', 'six.example', 443)),
  web('over either', 'https://both.example/', at('11.22.33.11', 'both.example', 443)),
  web('in capitals', 'https://GOOD.Example/', at('11.22.33.10', 'GOOD.Example', 443)),
  web('another name', 'http://other.example/', 'HOST_NOT_ALLOWED'),
  web('another name, TLS', 'https://other.example/', 'HOST_NOT_ALLOWED'),
  web('a name that is none', 'https://none.example/', 'HOST_NOT_ALLOWED'),
  web('another port', 'http://good.example:8080/', 'PORT_NOT_ALLOWED'),
  web('SSH of a listed name', 'https://good.example:22/', 'PORT_NOT_ALLOWED'),
  web('a listed port', 'http://port.example:8080/', at('11.22.33.13', 'port.example:8080', 8080)),
  web('a usual port, where another is listed', 'http://port.example/', 'PORT_NOT_ALLOWED'),
  web('below a suffix', 'https://a.wide.example/', at('11.22.33.15', 'a.wide.example', 443)),
  web('far below it', 'https://a.b.wide.example/', at('11.22.33.15', 'a.b.wide.example', 443)),
  web('the suffix itself', 'https://wide.example/', 'HOST_NOT_ALLOWED'),
  web('ends like it', 'https://xwide.example/', 'HOST_NOT_ALLOWED'),
  web('a listed address', 'https://11.22.33.5/', at('11.22.33.5', '11.22.33.5', 443)),
  web('a listed IPv6 address', 'https://[2a00:1::5]/', at('2a00:1::5', '[2a00:1::5]', 443)),
  web('it, written in full', 'http://[2a00:0001:0:0:0:0:0:5]/', at('2a00:1::5', '[2a00:1::5]')),
  web('another address', 'http://11.22.33.6/', 'HOST_NOT_ALLOWED'),
  web('another IPv6 address', 'http://[2a00:1::6]/', 'HOST_NOT_ALLOWED'),
  web('the address of a listed name', 'http://11.22.33.10/', 'HOST_NOT_ALLOWED'),
  // listed, and private all the same
  ...LITERALS.slice(2).map((host) => web(host, `http://${host.includes(':') ? `[${host}]` : host}/`, 'ADDRESS_NOT_ALLOWED', '--noproxy', '')),
  web('a service of the machine', `http://127.0.0.1:${LOCAL}/`, 'ADDRESS_NOT_ALLOWED', '--noproxy', ''),
  web('a name of the loopback', `http://loop.example:${LOCAL}/`, 'ADDRESS_NOT_ALLOWED'),
  web('a name of the metadata service', 'http://cloud.example/latest', 'ADDRESS_NOT_ALLOWED'),
  web('a name of private addresses', 'https://private.example/', 'ADDRESS_NOT_ALLOWED'),
  web('a name of mapped addresses', 'https://mapped.example/', 'ADDRESS_NOT_ALLOWED'),
  web('a name of private and public ones', 'http://mixed.example/', at('11.22.33.17', 'mixed.example')),
  web('the metadata service by its name, wherever that leads', 'http://metadata.google.internal/', 'ADDRESS_NOT_ALLOWED'),
  // who is named is who is called
  web('Host of another', 'http://good.example/', 'HOST_MISMATCH', '-H', 'Host: front.example'),
  web('Host of one that is not listed', 'http://good.example/', 'HOST_MISMATCH', '-H', 'Host: other.example'),
  web('Host of another port', 'http://good.example/', 'HOST_MISMATCH', '-H', 'Host: good.example:8080'),
  ['SNI of another', { proxy: tunnel('both.example:443'), sni: 'other.example' }, 'alert', ['both.example', 'SNI_MISMATCH']],
  ['SNI of another that is listed', { proxy: tunnel('front.example:443'), sni: 'both.example' }, 'alert', ['front.example', 'SNI_MISMATCH']],
  ['no SNI', { proxy: tunnel('six.example:443'), sni: '' }, 'alert', ['six.example', 'SNI_MISSING']],
  ['a tunnel with the right SNI', { proxy: tunnel('good.example:443'), sni: 'good.example' }, 'handshake'],
  ['Host of a tunnel is not asked', { proxy: tunnel('good.example:443', 'other.example'), sni: 'good.example' }, 'HOST_MISMATCH'],
  ['a request through a tunnel to port 80', { proxy: `${tunnel('good.example:80')}${get('/', 'other.example')}` }, /^(tunnel|closed|ECONNRESET)$/, ['good.example', 'NOT_TLS']],
  ['two requests, the second for another', { proxy: get('http://good.example/', 'good.example') + get('http://other.example/', 'other.example') },
    at('11.22.33.10', 'good.example')],
  ['an address for a tunnel with a name in TLS', { proxy: tunnel('11.22.33.5:443'), sni: 'other.example' }, 'alert', ['11.22.33.5', 'SNI_MISMATCH']],
  ...['2130706433', '185999621', '0x7f.1', '0xb162105', '0177.0.0.1', '013.026.041.05', '127.1', '11.22.8453', '%31%31.22.33.5', '11.22.33.5%00.good.example',
    'good.example%2eother.example', 'good.example@other.example', '[fe80::1%25near]', 'good..example', '١١.22.33.5', 'good。example'].map((host) => [
    `written as ${host}`, { proxy: get(`http://${host}/`, host) }, /^(HOST_INVALID|REQUEST_INVALID)$/]),
  ['a tunnel to a number', { proxy: tunnel('2130706433:443') }, 'HOST_INVALID'],
  ['NO_PROXY for curl', { curl: ['--noproxy', '*', 'http://good.example/'] }, /^curl (6|7|28)$/],
  ['an upgrade to a host that is not listed', { proxy: get('http://other.example/', 'other.example', 'Connection: upgrade\r\nUpgrade: h2c\r\n') }, 'HOST_NOT_ALLOWED'],
];
// Each in its turn: what a name means changes.
const REBINDING = [
  web('a name, when it is public', 'http://rebind.example/', at('11.22.33.18', 'rebind.example')),
  web('when it is the loopback', 'http://rebind.example/', 'ADDRESS_NOT_ALLOWED'),
  web('when it is metadata', 'http://rebind.example/', 'ADDRESS_NOT_ALLOWED'),
];

// --- the proxy ignored: [what, attempt]; without a wall all arrive but those that nobody may try

const straight = (address, port = 80) => [`${address} ${port}`, { tcp: [address, port] }];
const datagram = (address, port) => [`UDP ${address} ${port}`, { udp: [address, port] }];
const socket = (what, make, then) => [what, { python: `import socket, errno
try:
  s = socket.socket(${make})
  ${then}
  print('reached')
except OSError as e:
  print(errno.errorcode[e.errno])` }, 'never'];
const toLogins = ['127.0.0.1', '::1', NEAR.v4, NEAR.v6].map((address) => straight(address, LOGINS));
const IGNORED = [
  ...toLogins.slice(0, 1),
  ...[...new Set(Object.values(NAMES).flat(2))].filter((a) => !/^(127\.|::1$|fe80:|::ffff:7f|::ffff:a|11\.22\.33\.1$|2a00:1::1$)/.test(a)).map((a) => straight(a)),
  ...LITERALS.filter((a) => !/^(127\.|0\.|240\.|::1$|localhost|::ffff:)/.test(a)).map((a) => straight(a)),
  ...[22, 53, 443, 8080, 9999].flatMap((port) => [straight('11.22.33.10', port), straight('2a00:1::10', port)]),
  straight('::ffff:11.22.33.10'), straight('11.22.33.10', 443),
  ...[FAR.v4, FAR.v6, '11.22.33.10', '2a00:1::10'].flatMap((address) => [53, 123, 443, 9999].map((port) => datagram(address, port))),
  ['curl --noproxy', { curl: ['--noproxy', '*', '--resolve', 'good.example:80:11.22.33.10', 'http://good.example/'] }],
  ['curl, HTTP/3 or not', { curl: ['--noproxy', '*', '--resolve', 'good.example:443:[2a00:1::10]', 'https://good.example/'] }],
  ['curl that asks a name server', { curl: ['--noproxy', '*', 'http://good.example/'] }],
  ['urllib without a proxy', { python: `import urllib.request as u
try: print(u.build_opener(u.ProxyHandler({})).open('http://11.22.33.10/', timeout=3).read().decode().strip())
except OSError as e: print(e)` }],
  ['urllib with no_proxy', { python: `import os, urllib.request as u
os.environ['no_proxy'] = os.environ['NO_PROXY'] = '*'
try: print(u.urlopen('http://11.22.33.10/', timeout=3).read().decode().strip())
except OSError as e: print(e)` }],
  socket('ICMP', 'socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP', "s.sendto(b'\\x08\\0\\xf7\\xff\\0\\0\\0\\0', ('11.22.33.10', 0))"),
  socket('ICMPv6', 'socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6', "s.sendto(b'\\x80\\0\\0\\0\\0\\0\\0\\0', ('2a00:1::10', 0))"),
  socket('ICMP as a datagram', 'socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP', "s.sendto(b'\\x08\\0\\xf7\\xff\\0\\0\\0\\0', ('11.22.33.10', 0))"),
  socket('a protocol of its own', 'socket.AF_INET, socket.SOCK_RAW, 99', "s.sendto(b'x', ('11.22.33.10', 0))"),
  socket('frames', 'socket.AF_PACKET, socket.SOCK_RAW, 0x0300', "s.bind(('near', 0)); s.send(b'\\xff' * 64)"),
  socket('SCTP', 'socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP', "s.connect(('11.22.33.10', 80))"),
  socket('TCP Fast Open', 'socket.AF_INET, socket.SOCK_STREAM', "s.sendto(b'x', 0x20000000, ('11.22.33.10', 80))").slice(0, 2),
];
const REFUSED = /^(ENETUNREACH|ECONNREFUSED|EPERM|EACCES|EPROTONOSUPPORT|ESOCKTNOSUPPORT|EAFNOSUPPORT|ENODEV|EADDRNOTAVAIL|curl (6|7)|<urlopen error .*>)$/;

// --- the walls

const WALLS = [
  { wall: 'nftables', flags: { agentUser: AGENT }, level: 'guarded', local: true },
  { wall: 'namespace', flags: { agentUser: AGENT }, level: 'strict' },
  { wall: 'namespace', flags: {}, level: 'guarded' },
];

const inside = enterNear(import.meta.filename);

if (inside) describe('an agent with a network of hosts', { skip: !farSidePossible && 'no namespaces, ip or nft' }, () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-far-'));
  let far, local, logins, names;

  before(async () => {
    far = await FarSide.start({ dir, names: NAMES, hosts: Object.keys(NAMES) });
    names = dgram.createSocket('udp4').on('message', (b, from) => names.send(b, from.port, from.address)).bind(53, '127.0.0.1');
    local = http.createServer((req, res) => res.end('reached the machine')).listen(LOCAL, '::');
    logins = net.createServer((s) => s.destroy()).listen(LOGINS, '::');
  });
  after(() => {
    far?.stop();
    local?.closeAllConnections();
    local?.close();
    logins?.close();
    names?.close();
    fs.rmSync(dir, { recursive: true });
  });

  async function attempt(d, c, id, rows) {
    const file = path.join(d.workDir, 'attempts.json');

    fs.writeFileSync(file, JSON.stringify(rows.map(([, what]) => what)));
    const { code, text } = await runCommand(c, id, `${process.execPath} ${ATTEMPTS} ${file} 2>/dev/null`);

    assert.equal(code, 0, text);
    return JSON.parse(text);
  }
  const wrong = (rows, results, wanted) => rows.map(([what, , ...row], i) => [what, results[i], wanted(row)])
    .filter(([, got, want]) => (want instanceof RegExp ? !want.test(got) : got !== want)).map(([what, got, want]) => `${what}: ${got}, not ${want}`);
  const idle = async () => {
    await until(async () => { // the ends of connections
      await far.ask('forget');
      await sleep(100);
      return await far.ask('packets') === 0;
    }, 'a quiet cable');
    far.senders();
  };

  for (const { wall, flags, level, local: reachesLocal } of WALLS)
    describe(`${wall}, level ${level}${flags.agentUser ? '' : ', agents are the daemon\'s user'}`, () => {
      let d, c, id;

      before(async () => {
        d = await Daemon.start({ flags });
        c = await d.client();
        const { sessionId, _meta } = await c.newSession({ meta: { network: { mode: 'allowlist', allow: ALLOW }, level: { name: level, atLeast: false } } });

        assert.equal(_meta.acpd.network.achieved, wall);
        id = sessionId;
        await c.prompt(id, 'hello');
      });
      after(() => endInOrder(d, c));

      test('who ignores the proxy gets nowhere: not one packet arrives', async () => {
        await idle();
        const results = await attempt(d, c, id, IGNORED);

        assert.deepEqual(wrong(IGNORED, results, () => REFUSED), []);
        assert.equal(await far.ask('packets'), 0);
        assert.deepEqual(far.senders(), {});
      });

      test('who obeys it gets to what is listed', async () => {
        await idle();
        const results = await attempt(d, c, id, OBEYED);

        for (const row of REBINDING)
          results.push(...await attempt(d, c, id, [row]));
        assert.deepEqual(wrong([...OBEYED, ...REBINDING], results, ([want]) => want), []);
      });

      test('only acpd-proxy has sent, to a name server and to what was reached', async () => {
        const reached = [...OBEYED, ...REBINDING].map(([, , want]) => /^reached (\S+):(\d+) /.exec(want)).filter(Boolean).map(([, a, port]) => `${a}:${port}`);
        // tunnels that were refused for what came through them, before it went on
        const opened = ['11.22.33.11:443', '11.22.33.16:443', '2a00:1::10:443', '11.22.33.10:80', '11.22.33.5:443'];
        const wanted = [...new Set([...reached, ...opened, `${FAR.v4}:53`])].sort();
        const senders = far.senders();
        const agent = flags.agentUser ? '65534' : '0';

        assert.deepEqual((await far.ask('seen')).sort(), wanted);
        assert.equal(Object.keys(senders).length, 1, JSON.stringify(senders));
        assert.equal(senders[agent], undefined);
      });

      test('each refusal of a host is told once', async () => {
        const told = () => c.messages.map((m) => m.params).filter((p) => p?.sessionId === id && p.event?.event === 'network_blocked').map(({ event }) => event);
        const hosts = ['other.example', 'none.example', 'wide.example', 'xwide.example', '11.22.33.6', '2a00:1::6', '169.254.169.254', 'loop.example', 'cloud.example',
          'both.example', 'front.example', 'six.example', '2130706433'];

        await until(() => hosts.every((host) => told().some((e) => e.host === host)), () => `the events: ${JSON.stringify(told())}`);
        for (const [, , , after] of OBEYED.filter((row) => row[3])) {
          const [host, reason] = after;

          assert.ok(told().some((e) => e.host === host && (e.reason === reason || ['good.example', '11.22.33.5'].includes(host))), `${host} ${reason}`);
        }
        assert.equal(new Set(told().map((e) => e.host)).size, told().length, 'once');
      });

      test(`the machine's loopback ${reachesLocal ? 'is the agent\'s, too' : 'is not there'}, and the daemon is not`, async () => {
        const rows = [straight('127.0.0.1', LOCAL), straight('::1', LOCAL), straight(NEAR.v4, LOCAL), straight(NEAR.v6, LOCAL), straight('127.0.0.1', d.port),
          straight('::1', d.port), straight('127.0.0.2', LOCAL), straight('0.0.0.0', d.port), ...toLogins];
        const results = await attempt(d, c, id, rows);
        const own = reachesLocal ? 4 : 0;

        assert.deepEqual(results.slice(0, own), Array(own).fill('reached'));
        assert.deepEqual(wrong(rows.slice(own), results.slice(own), () => REFUSED), []);
        // without an answer to it there is none to a question, either
        assert.match((await attempt(d, c, id, [datagram('127.0.0.1', 53)]))[0], /^(EPERM|silence)$/);
        if (flags.agentUser)
          assert.match((await runCommand(c, id, 'echo 11.22.33.12 good.example >>/etc/hosts')).text, /Permission denied|Read-only/);
      });

      test('without a wall all of it arrives', { skip: level === 'strict' && 'it has always one' }, async () => {
        await c.call('session/close', { sessionId: id });
        await idle();
        const { sessionId } = await c.newSession();
        const results = await attempt(d, c, sessionId, IGNORED);

        assert.deepEqual(wrong(IGNORED, results, ([never]) => (never ? REFUSED : /^reached/)), []);
        assert.ok(await far.ask('packets') > IGNORED.length);
        assert.deepEqual(Object.keys(far.senders()), [flags.agentUser ? '65534' : '0']);
      });
    });
});

// SPDX-License-Identifier: Apache-2.0
// The far side of far-side.mjs: every address is its own, and HTTP, HTTPS, DNS and echoes answer there.

import { execFileSync } from 'node:child_process';
import dgram from 'node:dgram';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { answerDns, makeCertificates } from './egress.mjs';

const { dir, names, hosts, pages } = JSON.parse(process.argv[2]);
const RULES = `table inet far {
  counter came { }
  set seen { type ipv4_addr . inet_service; flags dynamic; size 4096; }
  set seen6 { type ipv6_addr . inet_service; flags dynamic; size 4096; }
  chain in { type filter hook prerouting priority -300;
    iifname != "far" return
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld-listener-report, mld2-listener-report } return
    counter name came
    add @seen { ip daddr . th dport }
    add @seen6 { ip6 daddr . th dport }
  }
}`;
const nft = (...args) => JSON.parse(execFileSync('nft', ['-j', ...args])).nftables;
const ip = (...args) => execFileSync('ip', args);

const asked = {}; // how often, by name

process.on('uncaughtException', (e) => process.send({ died: e.stack }));

const page = pages ? (await import(pages)).default : (req, res) => {
  const { localAddress, localPort } = req.socket;

  res.end(`reached ${localAddress.replace('::ffff:', '')}:${localPort} ${req.headers.host}\n`);
};
const plain = (req, res) => page(req, res, { dir });

function listenAll() {
  const { pair } = makeCertificates(dir, hosts);
  const dns = (query) => answerDns(query, names, asked);
  const listen = (server, port) => server.on('error', () => {}).listen(port, '::');

  for (const port of [80, 8080])
    listen(http.createServer(plain), port);
  for (const port of [443, 8443])
    listen(https.createServer(pair, plain), port);
  listen(net.createServer((s) => s.on('error', () => {}).on('data', (b) => {
    const answer = dns(b.subarray(2));
    const length = Buffer.alloc(2);

    length.writeUInt16BE(answer.length);
    s.write(Buffer.concat([length, answer]));
  })), 53);
  for (const port of [22, 9999])
    listen(net.createServer((s) => s.on('error', () => {}).pipe(s)), port);
  for (const family of ['udp4', 'udp6']) {
    for (const port of [53, 123, 443, 9999]) {
      const s = dgram.createSocket({ type: family, ipv6Only: family === 'udp6' });

      s.on('message', (b, from) => s.send(port === 53 ? dns(b) : b, from.port, from.address)).bind(port);
    }
  }
}

const does = {
  here: () => 'here',
  open() {
    ip('link', 'set', 'lo', 'up');
    ip('addr', 'add', '11.22.33.2/30', 'dev', 'far');
    ip('addr', 'add', '2a00:1::2/126', 'dev', 'far', 'nodad');
    ip('link', 'set', 'far', 'up');
    ip('route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo', 'table', 'main');
    ip('-6', 'route', 'add', 'local', '::/0', 'dev', 'lo', 'table', 'main');
    execFileSync('nft', ['-f', '-'], { input: RULES });
    listenAll();
    return 'open';
  },
  packets: () => nft('list', 'counters').find((n) => n.counter).counter.packets,
  forget() {
    nft('reset', 'counters'); // in a file nft 1.1.3 does nothing with it
    execFileSync('nft', ['-f', '-'], { input: 'flush set inet far seen\nflush set inet far seen6\n' });
    Object.keys(asked).forEach((name) => delete asked[name]);
    return 'forgotten';
  },
  seen: () => ['seen', 'seen6'].flatMap((set) => nft('list', 'set', 'inet', 'far', set).find((n) => n.set).set.elem ?? [])
    .map(({ concat: [address, port] }) => `${address}:${port}`).sort(),
};

process.on('message', (what) => process.send(does[what]()));

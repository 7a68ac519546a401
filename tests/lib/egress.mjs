// The daemon's end of acpd-proxy (tests/egress/driver.c) and a world for it: a DNS server, a certificate for every name of it, servers.
import { execFileSync, spawn } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import * as procs from './procs.mjs';
import { until } from './wait.mjs';

const built = path.dirname(path.resolve(process.env.ACPD ?? 'build/release/acpd'));
export const PROGRAM = path.join(built, 'acpd-proxy');
const DRIVER = path.join(built, 'tests/egress/driver');
export const available = fs.existsSync(PROGRAM) && fs.existsSync(DRIVER);

// --- DNS: A and AAAA of a table whose entries are lists of addresses, lists of such lists (for the first look-up, the next…), or functions of
// how often they were asked.

const packed = (address) => {
  if (net.isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head, tail = ''] = address.split('::');
  const words = (text) => (text ? text.split(':').map((w) => parseInt(w, 16)) : []);
  const a = words(head), b = words(tail);
  const all = [...a, ...Array(8 - a.length - b.length).fill(0), ...b];
  return Buffer.from(all.flatMap((w) => [w >> 8, w & 255]));
};

export function answerDns(query, names, asked) {
  const labels = [];
  let at = 12;
  for (; query[at]; at += query[at] + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
  const name = labels.join('.').toLowerCase(), type = query.readUInt16BE(at + 1);
  asked[name] = (asked[name] ?? 0) + (type === 1 ? 1 : 0);
  const entry = names[name], known = entry !== undefined;
  if (entry === null) return null;
  const turns = Array.isArray(entry?.[0]) ? entry[Math.max(Math.min(asked[name], entry.length) - 1, 0)] : entry;
  const all = typeof entry === 'function' ? entry(asked[name]) : turns ?? [];
  const found = all.filter((a) => net.isIPv4(a) === (type === 1)).map(packed);
  const head = Buffer.from(query.subarray(0, at + 5));
  head.writeUInt16BE(0x8180 | (known ? 0 : 3), 2);
  head.writeUInt16BE(found.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...found.map((a) => Buffer.concat([Buffer.from([0xc0, 12, 0, a.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, a.length]), a]))]);
}

export async function startDns(names) {
  const socket = dgram.createSocket('udp4'), asked = {};
  socket.on('message', (query, from) => {
    const text = answerDns(query, names, asked);
    if (text) socket.send(text, from.port, from.address);
  });
  await new Promise((go) => socket.bind(0, '127.0.0.1', go));
  return { address: `127.0.0.1:${socket.address().port}`, asked, stop: () => socket.close() };
}

// --- certificates: one authority, one certificate with these names

export function makeCertificates(dir, names) {
  const alt = names.map((n) => (net.isIP(n) ? `IP:${n}` : `DNS:${n}`)).join(',');
  const script = `cd "$0" &&
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.pem &&
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=far -keyout far.key -out far.req &&
    printf 'subjectAltName=${alt}\\nauthorityKeyIdentifier=keyid\\n' >ext &&
    openssl x509 -req -in far.req -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out far.pem`;
  execFileSync('sh', ['-c', script, dir], { stdio: 'pipe' });
  const read = (name) => fs.readFileSync(path.join(dir, name));
  return { ca: path.join(dir, 'ca.pem'), pair: { key: read('far.key'), cert: read('far.pem') } };
}

export const listen = (server, host = '127.0.0.1') => new Promise((go) => server.listen(0, host, () => go(server.address().port)));

export class Proxy {
  constructor(child) {
    this.child = child;
    this.said = [];
    let text = '';
    child.stdout.on('data', (b) => {
      text += b;
      for (let at; (at = text.indexOf('\n')) >= 0; text = text.slice(at + 1)) this.said.push(JSON.parse(text.slice(0, at)));
    });
  }

  static start({ allow = [], resolvers = '', program = PROGRAM, env = {} } = {}) {
    return new Proxy(spawn(DRIVER, [program, allow.join(','), resolvers], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } }));
  }

  tell(command) { this.child.stdin.write(`${JSON.stringify(command)}\n`); }

  of(did, door) { return this.said.filter((s) => s.did === did && (!door || s.door === door)); }

  async next(did, match = () => true) {
    return await until(() => this.said.find((s) => s.did === did && match(s)), `${did} is told`, 10000);
  }

  async open(rules, uid) {
    const n = this.of('open').length + this.of('refused').length;
    this.tell({ do: 'open', rules, ...(uid === undefined ? {} : { uid }) });
    return await until(() => [...this.of('open'), ...this.of('refused')][n], 'a door is open', 10000);
  }

  // The process of acpd-proxy.
  pid() {
    return procs.children(this.child.pid).find((pid) => procs.stat(pid)?.comm === 'acpd-proxy') ?? 0;
  }

  async stop() {
    this.child.stdin.end();
    await new Promise((go) => (this.child.exitCode === null ? this.child.once('exit', go) : go()));
  }
}

export const scratch = () => fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-egress-'));

// What a raw client says to the proxy, and all that it answers until the end of the connection.
export function raw(port, text, { host = '127.0.0.1', keep = false } = {}) {
  return new Promise((go, no) => {
    const socket = net.connect(port, host), parts = [];
    socket.on('data', (b) => parts.push(b)).on('error', (e) => (parts.length ? go(Buffer.concat(parts).toString('latin1')) : no(e)));
    socket.on('end', () => go(Buffer.concat(parts).toString('latin1')));
    if (keep) socket.write(text);
    else socket.end(text);
  });
}

// A tunnel: the socket once it is open, or the head of the refusal.
export function connect(port, target, { headers = '' } = {}) {
  return new Promise((go, no) => {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    const more = (b) => {
      text += b.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      socket.off('data', more);
      socket.pause();
      const head = text.slice(0, end), rest = text.slice(end + 4);
      if (rest) socket.unshift(Buffer.from(rest, 'latin1'));
      go({ socket, status: Number(head.split(' ')[1]), reason: /acpd-reason: (\S+)/.exec(head)?.[1], head });
    };
    socket.on('data', more).on('error', no);
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${headers}\r\n`);
  });
}

export { http, https };

// SPDX-License-Identifier: Apache-2.0
// What an agent may try: run by its shell tool, with a file of attempts; prints what came of each, in one word where it can.
//	{curl: [ARG…]}		what a server said, the proxy's reason, or "curl N"
//	{proxy: TEXT, sni?}	the same, of bytes for the proxy; sni: then TLS that names this host, '' none
//	{tcp | udp: [ADDRESS, PORT]}	"reached" or the error
//	{python: PROGRAM}	what it prints

import { execFile } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';

const PATIENCE = 6000; // ms; what is refused is refused at once, but for a busy machine
const AT_ONCE = 8;

const [file] = process.argv.slice(2);
const attempts = JSON.parse(fs.readFileSync(file, 'utf8'));
const spoken = (text) => /acpd-reason: (\S+)/.exec(text)?.[1] ?? /reached .*/.exec(text)?.[0];
const run = (program, args) => new Promise((done) => {
  execFile(program, args, { timeout: 60_000 }, (e, out, errors) => done({ code: e ? e.code ?? e.signal : 0, text: `${out}${errors}` }));
});

async function curl(args) {
  const { code, text } = await run('curl', ['-sS', '-i', '-k', '-m', '50', ...args]);

  return spoken(text) ?? `curl ${code}`;
}

function proxy(text, { sni }) {
  const { hostname, port } = new URL(process.env.HTTPS_PROXY);
  const socket = net.connect(port, hostname);

  return new Promise((done) => {
    let came = '';

    socket.setTimeout(PATIENCE * 2, () => done('silence'));
    socket.on('data', (b) => {
      came += b;
      if (spoken(came) || (sni === undefined && /^HTTP.* 200 /.test(came) && text.startsWith('CONNECT')))
        done(spoken(came) ?? 'tunnel');
      else if (sni !== undefined && came.includes('\r\n\r\n')) {
        socket.removeAllListeners('data');
        const secure = tls.connect({ socket, rejectUnauthorized: false, ...(sni && { servername: sni }) });

        secure.on('secureConnect', () => done('handshake')).on('error', (e) => done(/alert/.test(e.message) ? 'alert' : e.code));
      }
    }).on('error', (e) => done(e.code)).on('close', () => done('closed'));
    socket.write(text);
  }).finally(() => socket.destroy());
}

function tcp([host, port]) {
  const socket = net.connect(port, host);

  return new Promise((done) => {
    socket.setTimeout(PATIENCE, () => done('silence'));
    socket.on('connect', () => done('reached')).on('error', (e) => done(e.code));
  }).finally(() => socket.destroy());
}

// A DNS question, which other servers echo.
function udp([host, port]) {
  const socket = dgram.createSocket(net.isIPv6(host) ? 'udp6' : 'udp4');
  const question = Buffer.from('123401000001000000000000046c6f6f70076578616d706c650000010001', 'hex');

  return new Promise((done) => {
    setTimeout(() => done('silence'), PATIENCE).unref();
    socket.on('message', () => done('reached')).on('error', (e) => done(e.code));
    socket.send(question, port, host, (e) => e && done(e.code));
  }).finally(() => socket.close());
}

const python = async (program) => (await run('/usr/bin/python3', ['-c', program])).text.trim();

const ways = { curl, proxy, tcp, udp, python };

const results = [];
let next = 0;

async function work() {
  while (next < attempts.length) {
    const at = next++;
    const { ...attempt } = attempts[at];
    const way = Object.keys(ways).find((name) => attempt[name]);

    results[at] = await ways[way](attempt[way], attempt);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log(JSON.stringify(results));
process.exit(0);

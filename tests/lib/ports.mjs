// SPDX-License-Identifier: Apache-2.0
// A port of 127.0.0.1 that is ours as long as this process lives, for a program that has to be told one, for a daemon that comes back
// where it was, and for nobody at all. A port taken by listening on 0 and given back is not: the kernel may give it to another test.
//
//   const port = await ownPort();     // nobody listens there until the test makes somebody do so

import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';

const LEAST = 10_000, END = 65_536;
const RANGE = '/proc/sys/net/ipv4/ip_local_port_range'; // what the kernel gives out: from here up to there
const HOLDER = '127.255.255.254'; // who listens here on a port has the same one of 127.0.0.1

const listening = (port, host) => new Promise((done) => {
  const server = net.createServer((socket) => socket.destroy()).unref();

  server.once('error', () => done(undefined)).listen({ port, host, exclusive: true }, () => done(server));
});

// Whether somebody is there who does not ask us.
async function taken(port) {
  const server = await listening(port, '127.0.0.1');

  await (server && new Promise((done) => { server.close(done); }));
  return !server;
}

export async function ownPort() {
  const given = Number(fs.readFileSync(RANGE, 'utf8').split('\t')[0]);
  const end = given > LEAST ? given : END; // a machine that gives out nearly all: then at random among them

  for (;;) {
    const port = crypto.randomInt(LEAST, end);
    const holder = await listening(port, HOLDER);

    if (holder && !await taken(port))
      return port;
    holder?.close();
  }
}

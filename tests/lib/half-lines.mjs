// SPDX-License-Identifier: Apache-2.0
// Clients of a session's MCP socket that begin a message and never end it; for tests and for make bench.

import net from 'node:net';
import { RawOrchestrator, givenServers } from './mcp-orchestrators.mjs';

const valueOf = (given, name) => given.env.find((e) => e.name === name).value;

// A session with a relayed server: what its harness is told of it.
export async function relayed(daemon, handlers) {
  const o = await RawOrchestrator.connect(daemon, handlers);
  const { sessionId } = await o.newSession({});

  return { o, sessionId, given: (await givenServers(o.client, sessionId))[0] };
}

// One that is let in, and writes `bytes` without an end as fast as it is read. ended: resolves when the daemon closes it.
export function halfLine(given, bytes, piece = 1 << 20) {
  const socket = net.connect(valueOf(given, 'ACPD_MCP_SOCKET')).on('error', () => {});
  const rest = Buffer.alloc(piece, 'x');
  let left = bytes;
  const ended = new Promise((resolve) => { socket.on('close', resolve); });
  // resolves when all is written, or nothing more can be
  const written = new Promise((resolve) => {
    const more = () => {
      while (left > 0 && !socket.destroyed) {
        left -= piece;
        if (!socket.write(rest))
          return;
      }
      resolve();
    };

    socket.on('drain', more).on('close', resolve).resume();
    socket.write(`{"acpd":{"server":"tools","key":"${valueOf(given, 'ACPD_MCP_KEY')}"}}\n{"jsonrpc":"2.0","x":"`);
    more();
  });

  return { socket, ended, written };
}

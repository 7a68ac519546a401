// SPDX-License-Identifier: Apache-2.0
// JSON lines over a UNIX socket (control.sock, acp.sock) or a child's stdio (acpd acp, an agent), with
// the face of RawWs that AcpClient needs: so the same client and the same checks run over both paths.
//
//   const c = new AcpClient(await LineTransport.unix(d.acpSocket), { daemon: d });
//   const c = new AcpClient(LineTransport.spawn(ACPD, ['acp', '--url', d.url, '--token-file', d.tokenFile]));

import net from 'node:net';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { OP, deadline } from './rawws.mjs';

export class LineTransport extends EventEmitter {
  closeCode; // 1000 after an end of the stream, as WebSocket has it; 1006 after an error
  closeReason = '';
  stderr = '';
  lines = []; // raw bytes of each line received, when `record` is set
  record = false;

  #chunks = [];
  #out;
  #in;

  constructor(input, output) {
    super();
    this.#in = input;
    this.#out = output;
    this.closed = new Promise((resolve) => {
      const end = (error) => {
        if (this.closeCode !== undefined)
          return;
        this.error = error;
        this.closeCode = error ? 1006 : 1000;
        this.emit('closed');
        resolve({ code: this.closeCode, reason: '', error });
      };

      input.on('end', () => end());
      input.on('close', () => end());
      input.on('error', end);
    });
    output.on('error', () => {}); // told by the other side's end
    input.on('data', (data) => this.#data(data));
  }

  static async unix(path) {
    const socket = net.connect(path);

    await deadline(once(socket, 'connect'), 5000, `connect to ${path}`);
    const t = new LineTransport(socket, socket);
    t.socket = socket;
    return t;
  }

  // child: the process; exited: {code, signal}.
  static spawn(command, args = [], options = {}) {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
    const t = new LineTransport(child.stdout, child.stdin);

    t.child = child;
    child.stderr.on('data', (data) => { t.stderr += data; });
    t.exited = new Promise((resolve) => {
      child.on('error', (error) => resolve({ error }));
      child.on('close', (code, signal) => resolve({ code, signal }));
    });
    return t;
  }

  #data(data) {
    let from = 0;

    for (let i = data.indexOf(10); i >= 0; i = data.indexOf(10, from)) {
      this.#chunks.push(data.subarray(from, i));
      from = i + 1;
      const payload = Buffer.concat(this.#chunks.splice(0));

      if (this.record)
        this.lines.push(payload);
      this.emit('message', { opcode: OP.text, payload, frames: 1 });
    }
    if (from < data.length)
      this.#chunks.push(data.subarray(from));
  }

  get isOpen() {
    return this.closeCode === undefined;
  }

  bytes(data) {
    return this.#out.write(data);
  }

  text(text) {
    return this.bytes(`${text}\n`);
  }

  pause() {
    this.#in.pause();
  }

  resume() {
    this.#in.resume();
  }

  close() {
    this.#out.end();
  }

  destroy() {
    this.#in.destroy();
    this.#out.destroy();
    this.child?.kill('SIGKILL');
  }

  waitClosed(timeout = 10000) {
    return deadline(this.closed, timeout, 'the stream to end');
  }
}

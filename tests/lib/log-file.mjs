// SPDX-License-Identifier: Apache-2.0
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StringDecoder } from 'node:string_decoder';

const CHUNK = Buffer.alloc(1 << 16);

// The log of a child: an unlinked file, whose descriptor the child inherits. Through a pipe, a line may reach the test after the effect
// of something that the child did later; from a file, the test always reads it.
export class LogFile {
  #decoder = new StringDecoder();
  #at = 0;
  #text = '';

  constructor() {
    const name = path.join(os.tmpdir(), `acpd-log-${crypto.randomBytes(8).toString('hex')}`);

    this.fd = fs.openSync(name, 'ax+', 0o600);
    fs.unlinkSync(name);
  }

  // All of it so far, also after close().
  get text() {
    for (let n; this.fd !== undefined && (n = fs.readSync(this.fd, CHUNK, 0, CHUNK.length, this.#at)); this.#at += n)
      this.#text += this.#decoder.write(CHUNK.subarray(0, n));
    return this.#text;
  }

  close() {
    this.#text = this.text;
    if (this.fd !== undefined)
      fs.closeSync(this.fd);
    this.fd = undefined;
  }
}

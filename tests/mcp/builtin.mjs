// SPDX-License-Identifier: Apache-2.0
// The built-in tools as a client sees them: `acpd mcp --builtin` on standard input and output. Every result and every error of
// a tool is held against the schema that the tool announces.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { strict as assert } from 'node:assert';
import Ajv2020 from 'ajv/dist/2020.js';
import { ACPD } from '../lib/daemon.mjs';
import { patience } from '../lib/rawws.mjs';

export { ACPD };

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};

// many: of files, which disks of test machines take minutes for.
export function scratch({ many = false } = {}) {
  const base = many && fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();

  return fs.realpathSync(fs.mkdtempSync(path.join(base, 'acpd-tools-')));
}

// What a model is shown: plain, of a size that a context can bear, with no JSON of the result in it.
export const SHOWN_MAX = 51200; // and 2000 lines: where harnesses cut

export function checkText(name, { content, structuredContent: s, isError }) {
  const [{ type, text }, ...more] = content;

  assert.equal(type, 'text');
  assert.ok(text.length > 0 && Buffer.byteLength(text) <= SHOWN_MAX && text.split('\n').length <= 2000, `${name} shows ${Buffer.byteLength(text)} bytes`);
  assert.ok(!text.includes(JSON.stringify(s)), `${name} shows JSON: ${text}`);
  assert.ok(more.every((block) => block.type === 'image'));
  if (isError)
    assert.ok(text.startsWith(`${s.error.code}: ${s.error.message}`), text);
}

export class Tools {
  #next = 1;
  #open = new Map();
  #chunks = []; // of the line that is not whole yet
  progress = []; // of all calls
  seen = new Set(); // names of tools that were called

  // config: the object on descriptor 3; root is its first root.
  static async start(root, config = {}, capabilities = {}) {
    const t = new Tools();

    t.root = root;
    t.capabilities = capabilities;
    t.child = spawn(ACPD, ['mcp', '--builtin', '--config-fd', '3'], { stdio: ['pipe', 'pipe', 'pipe', 'pipe'], cwd: root });
    t.stderr = '';
    t.child.stderr.on('data', (d) => { t.stderr += d; });
    t.child.stdin.on('error', () => {});
    t.child.stdout.setEncoding('utf8').on('data', (d) => t.#data(d));
    t.exited = new Promise((resolve) => t.child.on('close', (code, signal) => {
      for (const { reject } of t.#open.values())
        reject(new Error(`acpd mcp ended: ${code ?? signal} ${t.stderr}`));
      resolve({ code, signal });
    }));
    t.child.stdio[3].end(JSON.stringify({ roots: [root], ...config }));
    const { result } = await t.request('tools/list', {});
    const ajv = new Ajv2020({ strict: true, allErrors: true, strictRequired: false, strictTypes: false });

    t.tools = new Map(result.tools.map((tool) => [tool.name, {
      ...tool, input: ajv.compile(tool.inputSchema), output: ajv.compile(tool.outputSchema),
    }]));
    return t;
  }

  #data(text) {
    const parts = text.split('\n');

    this.#chunks.push(parts.shift());
    for (const part of parts) {
      const m = JSON.parse(this.#chunks.join(''));

      this.#chunks = [part];

      if (m.method === 'notifications/progress') {
        this.progress.push(m.params);
        continue;
      }
      const open = this.#open.get(m.id);

      this.#open.delete(m.id);
      open?.resolve(m);
    }
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  // The whole answer. id: of the request, for a test that cancels it.
  request(method, params, meta = {}, id = this.#next++) {
    const answer = new Promise((resolve, reject) => this.#open.set(id, { resolve, reject }));
    const _meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': this.capabilities, ...meta };

    this.send({ id, method, params: { ...params, _meta } });
    return answer;
  }

  async raw(name, args, more = {}, meta = {}) {
    const answer = await this.request('tools/call', { name, arguments: args, ...more }, meta);

    assert.equal(answer.error, undefined, JSON.stringify(answer.error));
    const { result } = answer;
    const tool = this.tools.get(name);

    this.seen.add(name);
    if (result.resultType === 'input_required')
      return result;
    assert.equal(result.resultType, 'complete');
    assert.ok(tool.output(result.structuredContent), `${name}: ${JSON.stringify(tool.output.errors)} ${JSON.stringify(result)}`);
    checkText(name, result);
    assert.equal(result.isError === true, result.structuredContent.error !== undefined);
    if (!result.isError)
      assert.ok(tool.input(args), `${name} took what it does not announce: ${JSON.stringify(tool.input.errors)}`);
    return result;
  }

  // The structured result; an error fails the test.
  async call(name, args = {}, meta = {}) {
    const { structuredContent: s } = await this.raw(name, args, {}, meta);

    assert.equal(s.error, undefined, `${name} ${JSON.stringify(args)}: ${JSON.stringify(s.error)}`);
    return s;
  }

  // The error, which must have this code.
  async fails(code, name, args = {}) {
    const { structuredContent: s } = await this.raw(name, args);

    assert.equal(s.error?.code, code, `${name} ${JSON.stringify(args)}: ${JSON.stringify(s)}`);
    return s.error;
  }

  cancel(requestId) {
    this.send({ method: 'notifications/cancelled', params: { requestId } });
  }

  file(name) {
    return path.join(this.root, name);
  }

  async stop() {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), patience(10000));
    const end = await this.exited;

    clearTimeout(timer);
    return end;
  }
}

// One of it for a test, with a root of its own, gone afterwards.
export async function tools(t, config = {}, capabilities = {}, room = {}) {
  const root = scratch(room);
  const box = await Tools.start(root, config, capabilities);

  t.after(async () => {
    const end = await box.stop();

    fs.rmSync(root, { recursive: true, force: true });
    assert.deepEqual(end, { code: 0, signal: null }, box.stderr);
    assert.equal(box.stderr, '');
  });
  return box;
}

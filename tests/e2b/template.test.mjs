// SPDX-License-Identifier: Apache-2.0
// build: release
// images/template.ts: what E2B's own tools make of it, and which requests a sandbox of it may make.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Template } from 'e2b';
import { ROOT } from '../lib/daemon.mjs';

let dir, agentTemplate, egressOf, sandboxOptions;

before(async () => {
  // beside node_modules, where Node finds the package
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-template-'));
  fs.symlinkSync(fs.realpathSync(path.join(ROOT, 'tests/node_modules')), path.join(dir, 'node_modules'));
  fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}');
  fs.copyFileSync(path.join(ROOT, 'images/template.ts'), path.join(dir, 'template.ts'));
  ({ agentTemplate, egressOf, sandboxOptions } = await import(path.join(dir, 'template.ts')));
});
after(() => fs.rmSync(dir, { recursive: true, force: true }));

test('the template is e2b.Dockerfile, without a start command, and ready once the daemon answers', async () => {
  const made = JSON.parse(await Template.toJSON(agentTemplate(ROOT.replace(/\/$/, '')), false));
  const plain = JSON.parse(await Template.toJSON(Template({ fileContextPath: ROOT }).fromDockerfile(path.join(ROOT, 'e2b.Dockerfile')), false));

  assert.deepEqual(made.steps, plain.steps);
  assert.equal(made.startCmd, undefined);
  assert.match(made.readyCmd, /curl .*http:\/\/localhost:2270\/health/);
});

const ALL = { allTraffic: '0.0.0.0/0' };
const outward = (network) => {
  const { network: rules, allowInternetAccess } = egressOf(network);

  return { internet: allowInternetAccess ?? true, allow: rules?.allowOut ?? [], deny: rules?.denyOut?.(ALL) ?? [] };
};

test('the egress of a sandbox is that of its sessions', () => {
  assert.deepEqual(outward({ mode: 'on' }), { internet: true, allow: [], deny: [] });
  assert.deepEqual(outward({ mode: 'off' }), { internet: false, allow: [], deny: [] });
  assert.deepEqual(outward({ mode: 'allowlist', allow: [] }), { internet: false, allow: [], deny: [] });
  assert.deepEqual(outward({ mode: 'allowlist', allow: [{ host: '*.example.com', ports: [443] }, { host: '192.0.2.7' }] }),
    { internet: true, allow: ['*.example.com', '192.0.2.7'], deny: ['0.0.0.0/0'] });
});

test('whatever the egress is: nobody without the traffic token, and a pause at the end that the next request undoes', () => {
  for (const mode of ['on', 'off', 'allowlist']) {
    const { network, lifecycle } = sandboxOptions({ mode, allow: [{ host: 'x.example' }] });

    assert.equal(network.allowPublicTraffic, false, mode);
    assert.deepEqual(lifecycle, { onTimeout: 'pause', autoResume: true });
  }
  assert.deepEqual(sandboxOptions({ mode: 'allowlist', allow: [{ host: 'x.example' }] }).network.allowOut, ['x.example']);
});

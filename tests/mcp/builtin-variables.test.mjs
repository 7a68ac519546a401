// SPDX-License-Identifier: Apache-2.0
// Variables of commands, of a call and of createSandbox, and how much text the kernel takes.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Box } from './builtin-commands-rig.mjs';

test('what a variable cannot be named is refused by name', async (t) => {
  const box = await Box.start(t);
  const odd = [['A=B', 'A=B'], ['', ''], ['\u0000', '\\u0000']];

  for (const [tool, args] of [['runCommand', { command: 'env' }], ['runCode', { language: 'python', code: '' }], ['createSandbox', {}]])
    for (const field of tool === 'createSandbox' ? ['envs', 'envVars'] : ['envs', 'env'])
      for (const [name, shown] of odd) {
        const { error } = await box.call(tool, { ...args, [field]: { OK: '1', [name]: 'x' } });
        assert.deepEqual([error?.code, error?.field], ['INVALID_ARGUMENT', `${field}.${shown}`], `${tool} ${field}`);
      }
});

test('text that the kernel does not take is refused with the limit; one byte less runs', async (t) => {
  const box = await Box.start(t);
  const most = 128 * 1024 - 1;
  const fits = `echo ran; : ${'x'.repeat(most - 12)}`;

  assert.equal(fits.length, most);
  assert.equal((await box.call('runCommand', { command: fits })).stdout, 'ran\n');
  for (const [field, args] of [['command', { command: `${fits}x` }], ['argv', { argv: ['echo', 'x'.repeat(most + 1)] }],
    ['envs', { command: 'true', envs: { A: 'x'.repeat(most) } }], ['command', { command: `${fits}x`, background: true }]]) {
    const { error } = await box.call('runCommand', args);
    assert.deepEqual([error?.code, error?.field], ['TOO_LARGE', field]);
    assert.match(error.message, /131071 bytes.*input/);
  }
  assert.equal((await box.call('runCommand', { argv: ['sh'], input: `${fits}x\n` })).stdout, 'ran\n');
});

test('variables of createSandbox are those of later commands, below those of a call', async (t) => {
  const box = await Box.start(t);
  const told = async (args) => (await box.call('runCommand', { command: 'echo "$ONE $TWO $THREE"', ...args })).stdout;

  await box.call('createSandbox', { envVars: { ONE: '1', TWO: '2' }, envs: { TWO: 'two' } });
  assert.equal(await told(), '1 two \n');
  await box.call('createSandbox', { envs: { THREE: '3', ONE: 'one' } });
  assert.equal(await told(), 'one two 3\n');
  assert.equal(await told({ envs: { TWO: 'mine' } }), 'one mine 3\n');
  assert.equal((await box.call('runCode', { language: 'python', code: 'import os\nprint(os.environ["THREE"])' })).stdout, '3\n');
  const { pid } = await box.call('runCommand', { command: 'echo $ONE', background: true });
  assert.equal((await box.call('getProcessOutput', { pid, wait: true })).stdout, 'one\n');
  const { error } = await box.call('createSandbox', { envs: Object.fromEntries(Array.from({ length: 255 }, (_, i) => [`V${i}`, ''])) });
  assert.deepEqual([error?.code, error?.field], ['INVALID_ARGUMENT', 'envs']);
});

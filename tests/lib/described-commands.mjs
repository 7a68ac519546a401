// SPDX-License-Identifier: Apache-2.0
// What commands of acpd print with --json, held against daemon/api.

import assert from 'node:assert/strict';
import { Sample } from './described-lines.mjs';
import { TYPES, problems } from './described-schemas.mjs';

const COMMANDS = Object.entries(TYPES.Commands.properties).map(([name, schema]) => ({ name, words: name.split(' '), schema, lines: schema['x-acpd-lines'] }))
  .sort((a, b) => b.words.length - a.words.length);

// What stands in a ledger that a test has written is not the program's.
const isTheirs = ({ lines }, args) => lines && args.some((a) => /^--(?:file|table)(?:=|$)/.test(a));

const ofArgs = (args) => COMMANDS.find(({ words }) => words.every((w, i) => args[i] === w));

function valuesOf({ lines }, text) {
  if (!lines)
    return [JSON.parse(text)];
  const sample = new Sample();

  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((value) => sample.takes(value));
}

function problemsOf(command, text) {
  const what = `what acpd ${command.name} --json prints`;

  try {
    return valuesOf(command, text).flatMap((value) => problems(command.schema, value, what));
  } catch {
    return [`${what} is no JSON: ${text.slice(0, 200)}`];
  }
}

// args: of acpd. One that fails may print nothing.
export function commandProblems(args, stdout) {
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const command = ofArgs(own);
  const json = own.includes('--json') || command?.lines;

  return !command || !json || !stdout.length || isTheirs(command, own) || own.includes('--help') ? [] : problemsOf(command, `${stdout}`);
}

export function checkCommand(args, stdout) {
  assert.deepEqual(commandProblems(args, stdout), [], 'an output that the API does not have');
}

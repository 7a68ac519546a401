// SPDX-License-Identifier: Apache-2.0
// JSON Schema validators, compiled once into modules below build/: compiling them takes a test file longer than most of its tests.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const DIR = fileURLToPath(new URL('../../build/tests/validators/', import.meta.url));
const FORMATS = fileURLToPath(new URL('./formats.cjs', import.meta.url));

// An Ajv for draft 2020-12 that knows the formats of formats.cjs and whose validators can be written as source.
export function newAjv(options) {
  const { default: Ajv2020, _ } = require('ajv/dist/2020.js');

  return new Ajv2020({ strict: false, inlineRefs: false, formats: require(FORMATS), code: { source: true, formats: _`require(${FORMATS})` }, ...options });
}

const modified = (file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const AJV = path.dirname(require.resolve('ajv/package.json'));

// Writes the module whole or not at all: several test files may do this at once.
function write(file, { ajv, refs }) {
  const standalone = require('ajv/dist/standalone').default;
  const draft = `${file}.${process.pid}`;

  fs.mkdirSync(DIR, { recursive: true });
  fs.writeFileSync(draft, standalone(ajv, refs).replaceAll('require("ajv/', `require("${AJV}/`)); // build/ has no node_modules
  fs.renameSync(draft, file);
}

// The validators of build/tests/validators/NAME.cjs by their names, compiled again if a source is newer.
// sources: files; make(): {ajv, refs: {name: the $id of a schema in ajv}}.
export function compiled(name, sources, make) {
  const file = path.join(DIR, `${name}.cjs`);
  const newest = Math.max(...[FORMATS, fileURLToPath(import.meta.url), ...sources].map(modified));

  if (modified(file) < newest)
    write(file, make());
  return require(file);
}

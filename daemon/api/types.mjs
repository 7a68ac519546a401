// SPDX-License-Identifier: Apache-2.0
// types.mjs - makes images/acpd-api.d.ts of openapi.json, by openapi-typescript of the tests. Run by make api.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from '../../tests/node_modules/openapi-typescript/dist/index.mjs';

const SOURCE = new URL('./openapi.json', import.meta.url);
const HEAD = `// SPDX-License-Identifier: Apache-2.0
// The API of acpd as types, generated from daemon/api/openapi.json by make api. It is committed because users copy it beside
// acpd-client.ts, and because the viewer, which is built without the packages of the tests, imports it.

`;

export const TYPES = fileURLToPath(new URL('../../images/acpd-api.d.ts', import.meta.url));

export const types = async () => HEAD + astToString(await openapiTS(JSON.parse(fs.readFileSync(SOURCE, 'utf8'))));

if (process.argv[1] === fileURLToPath(import.meta.url))
  types().then((text) => fs.writeFileSync(TYPES, text)); // no await: require() takes no module that waits

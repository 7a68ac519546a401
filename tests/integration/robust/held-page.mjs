// SPDX-License-Identifier: Apache-2.0
// Pages of the far side (lib/far-side.mjs) that begin and do not end: as long as one is open, dir has the file open-NAME; end-NAME ends it.

import fs from 'node:fs';
import path from 'node:path';

const LOOK_MS = 10;

export default function page(req, res, { dir }) {
  const file = (what) => path.join(dir, `${what}-${path.basename(req.url)}`);
  const looking = setInterval(() => fs.existsSync(file('end')) && res.end('and whole'), LOOK_MS);

  res.on('close', () => {
    clearInterval(looking);
    fs.rmSync(file('open'), { force: true });
  });
  res.writeHead(200).write('begun ');
  fs.writeFileSync(file('open'), '');
}

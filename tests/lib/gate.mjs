// SPDX-License-Identifier: Apache-2.0
// A turn of the stub agent that lasts until the test lets it go: what has to happen in its midst need not be quicker than a clock.
//
//   const { step, open } = gate(d);
//   const turn = c.startPrompt(sessionId, `echo begun; ${step}; echo over`);
//   …
//   open();

import fs from 'node:fs';
import path from 'node:path';

let last = 0;

export function gate(d) {
  const file = path.join(d.dir, `gate-${++last}`);

  return { step: `hold ${file}`, open: () => fs.writeFileSync(file, '') };
}

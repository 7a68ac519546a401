// SPDX-License-Identifier: Apache-2.0
// The viewer at a real daemon, whose sessions are the stub's.

import fs from 'node:fs';
import { never } from '../lib/approvals.mjs';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { newCwd } from '../lib/workspace.mjs';
import { openPage } from './browser.mjs';
import { viewer } from './page.mjs';

// opts: of Daemon.start. `watched`: the daemon, a connection that leaves questions open, and what makes sessions.
export async function startWatched({ flags, ...opts } = {}) {
  const d = await Daemon.start({ stub: { args: ['--usage', '--resume'] }, flags: { uiDir: viewer(), ...flags }, ...opts });
  const c = await d.client();

  c.onRequest('session/request_permission', never);
  return {
    d, c,
    url: (sessionId, token = d.token) => `http://127.0.0.1:${d.port}/ui/#token=${token}${sessionId ? `&session=${sessionId}` : ''}`,
    // A session in a directory of its own, with these files in it, after these prompts.
    async session({ meta, files = {}, prompts = [], ...rest } = {}) {
      const cwd = newCwd(d);

      for (const [name, text] of Object.entries(files))
        fs.writeFileSync(`${cwd}/${name}`, text);
      fs.chmodSync(cwd, 0o777);
      const { sessionId } = await c.newSession({ cwd, meta, ...rest });
      for (const text of prompts)
        await c.prompt(sessionId, text);
      return { sessionId, cwd };
    },
    async open(sessionId, { token, ...options } = {}) {
      return openPage(this.url(sessionId, token), { origins: [`http://127.0.0.1:${d.port}`], ...options });
    },
    end: () => endInOrder(d, c),
  };
}

// The tab of that name, and what it shows.
export async function tab(page, name) {
  await page.getByRole('tab', { name: new RegExp(`^${name}`) }).click();
  return page.getByRole('tabpanel');
}

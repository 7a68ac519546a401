// SPDX-License-Identifier: Apache-2.0
// The run of `make run`, a real harness that mends a bug, at a daemon that serves the viewer: for a test and for the pictures of it.

import fs from 'node:fs';
import path from 'node:path';
import { chooseProvider, PROMPT } from '../demo/provider.mjs';
import { Daemon, endInOrder, ROOT } from '../lib/daemon.mjs';
import { viewer } from '../ui/page.mjs';
import { HARNESSES, manifest } from './programs.mjs';

// -> {d, sessionId, prompt(): the turn, url(port): of the session in the viewer, end()}
export async function startRun(harness) {
  const d = await Daemon.start({ flags: { uiDir: viewer() }, harnesses: manifest() });
  const c = await d.client();
  const cwd = path.join(d.workDir, 'cart');

  fs.cpSync(path.join(ROOT, 'tests/demo/workspace'), cwd, { recursive: true });
  c.onRequest('session/request_permission', ({ options }) => ({
    outcome: { outcome: 'selected', optionId: (options.find((o) => o.kind === 'allow_once') ?? options[0]).optionId } }));
  const { provider, close } = await chooseProvider({}, HARNESSES[harness].api, cwd);
  const { sessionId } = await c.newSession({ cwd, meta: { harness, provider } });
  return {
    d, sessionId,
    prompt: () => c.prompt(sessionId, PROMPT),
    url: (port = d.port) => `http://127.0.0.1:${port}/ui/#token=${d.token}&session=${sessionId}`,
    async end() {
      await endInOrder(d, c);
      await close();
    },
  };
}

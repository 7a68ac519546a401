// SPDX-License-Identifier: Apache-2.0
// Whether a namespace can be made here at all: not in every container.

import { spawnSync } from 'node:child_process';

const works = (...args) => spawnSync('unshare', [...args, 'true']).status === 0;

export const rootHasNamespaces = process.getuid() === 0 && works('--net');
export const othersHaveNamespaces = works('--user', '--net');
export const pidNamespaces = process.getuid() === 0 && works('--pid', '--fork', '--mount-proc');

// SPDX-License-Identifier: Apache-2.0
// until of tests/lib, with the time that a real harness may take.

import { until as wait } from '../lib/wait.mjs';

export const until = (pred, what, ms = 15_000) => wait(pred, what, ms);

// SPDX-License-Identifier: Apache-2.0
// The real OpenCode behind acpd: every scenario of scenarios.mjs.

import { runScenarios } from './scenarios.mjs';

runScenarios('opencode');

// SPDX-License-Identifier: Apache-2.0
// The real Codex behind acpd: every scenario of scenarios.mjs.

import { runScenarios } from './scenarios.mjs';

runScenarios('codex');

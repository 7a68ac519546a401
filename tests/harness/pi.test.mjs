// SPDX-License-Identifier: Apache-2.0
// The real Pi behind acpd: every scenario of scenarios.mjs.

import { runScenarios } from './scenarios.mjs';

runScenarios('pi');

// SPDX-License-Identifier: Apache-2.0
// build: release
// All that needs Chromium, in one process: starting it costs more than most of the parts.

import './part-components.mjs';
import './part-xss.mjs';
import './part-live.mjs';
import './part-rights.mjs';
import './part-draft.mjs';
import './part-wire.mjs';
import './part-hostile.mjs';
import './part-long.mjs';
import './part-bundle.mjs';

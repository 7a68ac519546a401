// SPDX-License-Identifier: Apache-2.0
// Real Chromium (Debian's), driven by playwright-core: what a page may do, and how it looks. It is the build without windows, which costs half
// the CPU of the other.
//
//   const browser = await openBrowser();
//   const page = await browser.newPage();
//   ...
//   await browser.close();

import { chromium } from 'playwright-core';

export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';

export const openBrowser = ({ args = [], ...opts } = {}) =>
  chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', ...args], ...opts });

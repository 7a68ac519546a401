// SPDX-License-Identifier: Apache-2.0
// How much of a session is kept in memory. Whatever a session is, no more than this is.

export const TEXT_MAX = 256 * 1024; // characters of one text of a row
export const IMAGE_MAX = 8 * 1024 * 1024; // characters of base64
export const ROW_MAX = 9 * 1024 * 1024; // characters of all that a row contains
export const BLOCKS_MAX = 256; // blocks in one row

export const PAGE_ROWS = 64; // rows that are kept and dropped together
export const PAGES_BYTES = 24 * 1024 * 1024; // of all pages that are kept

export const TURNS_MAX = 20_000;
export const SPANS_MAX = 20_000;
export const CALLS_MAX = 5_000;
export const MODELS_MAX = 64;
export const FILES_MAX = 5_000;
export const ERRORS_MAX = 500;
export const CHECKS_MAX = 500;
export const ARTIFACTS_MAX = 1_000;
export const QUESTIONS_MAX = 64; // as many as the daemon lets be open
export const PLANS_MAX = 8;
export const PLAN_MAX = 500; // entries
export const PROMPT_LABEL = 120;

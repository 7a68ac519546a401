/*
 * fuzz.h - what the fuzz targets share. Each target is one entry point with invariants that hold for every input; the
 * same object runs its corpus as an ordinary program (main.c) and hunts under libFuzzer (make fuzz).
 *
 * FUZZ_CHECK is an assert that is never compiled out. exact() gives the bytes without anything behind them, so that the
 * sanitizers see a read too far.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/util.h"
#include "json/jscan.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,          \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static inline struct slice exact(const void *p, size_t n)
{
	char *copy = malloc(n ? n : 1);

	FUZZ_CHECK(copy);
	if (n)
		memcpy(copy, p, n);
	return (struct slice){ copy, n };
}

static inline void exact_free(struct slice *s)
{
	free((void *)(uintptr_t)s->p);
}

/* The bytes with far more of them than any limit allows: each byte 1 becomes 20 000 letters. Hunts are limited to inputs of 4 KiB,
 * which are shorter than most limits. */
static inline void fuzz_blow_up(struct slice bytes, struct buf *ret)
{
	char letters[20000];

	memset(letters, 'x', sizeof(letters));
	for (size_t i = 0, blown = 0; i < bytes.n; i++)
		if (bytes.p[i] == 1 && blown++ < 16)
			buf_add(ret, letters, sizeof(letters));
		else
			buf_putc(ret, bytes.p[i]);
}

/* How often an input is cut, each time elsewhere: the sizes of its pieces depend on the seed alone. */
#define FUZZ_CUTS 5
#define FUZZ_SEED(cut, bytes) ((uint32_t)(bytes).n * 2654435761u + (cut))

/* Takes the next piece of what came, as an exact copy: 1 byte to 64 KiB, each order of size as likely. *seed 0: all of it. */
static inline struct slice fuzz_cut(uint32_t *seed, struct slice *rest)
{
	size_t n = rest->n;

	if (*seed) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 17;
		*seed ^= *seed << 5;
		n = MIN(1 + (*seed >> 8) % (1u << *seed % 17), rest->n);
	}
	*rest = slice_after(*rest, n);
	return exact(rest->p - n, n);
}

/* A part of the text of a line: inside it, or empty. */
static inline bool slice_inside(struct slice part, struct slice whole)
{
	return !part.n || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

/* The error is fit to be shown: one line, terminated, with a reason. */
static inline void check_err(const struct err *e)
{
	FUZZ_CHECK(memchr(e->msg, 0, sizeof(e->msg)) && memchr(e->field, 0, sizeof(e->field)));
	FUZZ_CHECK(memchr(e->reason, 0, sizeof(e->reason)) && e->reason[0] && e->msg[0]);
	for (const char *p = e->msg; *p; p++)
		FUZZ_CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
}

static inline bool is_json(struct slice text, enum jtype type)
{
	struct jval v;

	return jscan_value(text, &v) == JSCAN_OK && (type == J_NONE || v.type == type);
}

/* Takes the next piece up to the separator byte; false at the end. */
static inline bool next_piece(struct slice *rest, char separator, struct slice *piece)
{
	const char *at;

	if (!rest->p)
		return false;
	at = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
	*piece = (struct slice){ rest->p, at ? (size_t)(at - rest->p) : rest->n };
	*rest = at ? (struct slice){ at + 1, rest->n - piece->n - 1 } : SLICE_NONE;
	return true;
}

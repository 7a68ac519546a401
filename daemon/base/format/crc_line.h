/*
 * crc_line.h - a JSON object on a line of its own that ends in a checksum of itself: {...,"crc":"0a1b2c3d"}. The checksum is
 * CRC-32C over the bytes from '{' up to, not including, the comma before "crc". Files of the daemon that grow line by line are
 * made of such lines: one that is torn or changed is seen. Pure.
 */
#pragma once

#include "base/buf.h"

/* The bytes that end a line, with its newline. */
#define CRC_LINE_TAIL (sizeof(",\"crc\":\"00000000\"}\n") - 1)
/* Writes them for a line whose other members have that checksum. */
void crc_line_tail(char out[CRC_LINE_TAIL + 1], uint32_t crc);
/* The line that began at start has all its other members: its end follows, with a newline. */
void crc_line_end(struct buf *b, size_t start);
/* line, without its newline: what stands before the checksum. False: it is no such line, or was changed. */
bool crc_line_open(struct slice line, struct slice *ret);

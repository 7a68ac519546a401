/* crc32c.h - CRC-32C (Castagnoli), the checksum that ends each journal line. SSE4.2 and PCLMUL where the CPU has them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Continues crc (0 to start) over n bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

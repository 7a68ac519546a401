/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor.c - what a disk takes for the least that is durable: 512 bytes, written and flushed in the place of others of a
 * file that is there already.
 *
 *	floor RUNS PATH [CORE]    the file is made, and removed at the end
 *
 * Prints one JSON object: microseconds, median and 99th percentile, and those of the processor each.
 */
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES (1 << 20)
#define PIECE 512

static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static int made_file(const char *path)
{
	char *zeros = calloc(1, FILE_BYTES);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (!zeros || fd < 0 || write(fd, zeros, FILE_BYTES) != FILE_BYTES || fsync(fd) < 0)
		give_up(path);
	free(zeros);
	return fd;
}

static uint64_t put(int fd, long i)
{
	uint64_t start = now_ns();
	char piece[PIECE];

	memset(piece, 'a' + (int)(i % 26), sizeof(piece));
	if (pwrite(fd, piece, PIECE, i * PIECE % FILE_BYTES) != PIECE || fdatasync(fd) < 0)
		give_up("floor");
	return now_ns() - start;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[1]) : 0;
	uint64_t *took = calloc((size_t)n + 1, sizeof(*took)), cpu;
	int fd;

	if (n < 1 || !took)
		return 2;
	if (argc > 3)
		pin(getpid(), atoi(argv[3]));
	fd = made_file(argv[2]);
	cpu = cpu_ns(getpid());
	for (long i = 0; i < n; i++)
		took[i] = put(fd, i);
	cpu = cpu_ns(getpid()) - cpu;
	unlink(argv[2]);
	close(fd);
	sort_ns(took, (size_t)n);
	printf("{\"p50_us\":%.2f,\"p99_us\":%.2f,\"cpu_us\":%.2f}\n", (double)took[n / 2] / 1e3,
	       (double)took[n * 99 / 100] / 1e3, (double)cpu / 1e3 / (double)n);
	free(took);
	return 0;
}

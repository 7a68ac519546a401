/*
 * tunnel.c FAR-PORT DOOR-PORT MIB [WAY [PACE]] - one stream of so many MiB from a server of its own, straight and through
 * acpd-proxy: prints {"straight":BYTES/S,"through":BYTES/S}; with WAY, its name, only one of them. PACE: at most so many
 * bytes are taken in a second. With FAR-PORT 0 it is the server: it prints its port, and sends to whoever comes until its
 * standard input ends.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char block[1 << 18];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)port),
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static void send_for_ever(int fd)
{
	while (send(fd, block, sizeof(block), MSG_NOSIGNAL) > 0)
		;
	_exit(0);
}

static int serve(void)
{
	struct sockaddr_in at = loopback(0);
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct pollfd p[2] = { { .fd = 0, .events = POLLIN }, { .fd = fd, .events = POLLIN } };

	signal(SIGCHLD, SIG_IGN);
	if (bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		die("listen");
	printf("%u\n", ntohs(at.sin_port));
	fflush(stdout);
	while (poll(p, 2, -1) > 0 && !p[0].revents) {
		int c = accept(fd, NULL, NULL);

		if (c < 0)
			continue;
		if (fork() == 0)
			send_for_ever(c);
		close(c);
	}
	return 0;
}

static int come(unsigned port)
{
	struct sockaddr_in at = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		die("connect");
	return fd;
}

static double pace; /* bytes a second; 0: as fast as they come */

static double since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

/* So much has come since then: waits until it may have. */
static void keep_pace(const struct timespec *from, double bytes)
{
	double ahead = pace > 0 ? bytes / pace - since(from) : 0;

	if (ahead > 0)
		nanosleep(&(struct timespec){ (time_t)ahead,
					      (long)((ahead - (double)(time_t)ahead) * 1e9) },
			  NULL);
}

static double take(int fd, double bytes)
{
	struct timespec from;
	double left = bytes;
	ssize_t n = 1;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (; left > 0 && n > 0; left -= (double)n) {
		keep_pace(&from, bytes - left);
		n = recv(fd, block, sizeof(block), 0);
	}
	if (n <= 0)
		die("recv");
	close(fd);
	return bytes / since(&from);
}

static int come_through(unsigned door, unsigned far)
{
	char text[64];
	int fd = come(door),
	    n = snprintf(text, sizeof(text), "CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", far);

	if (send(fd, text, (size_t)n, 0) != n || recv(fd, text, 12, MSG_WAITALL) != 12 ||
	    memcmp(text + 9, "200", 3) != 0)
		die("CONNECT");
	return fd;
}

int main(int argc, char **argv)
{
	unsigned far, door;
	double bytes, straight = 0, through = 0;

	if (argc < 4 || argc > 6)
		return 2;
	pace = argc == 6 ? atof(argv[5]) : 0;
	far = (unsigned)atoi(argv[1]);
	door = (unsigned)atoi(argv[2]);
	bytes = atof(argv[3]) * 1048576;
	if (!far)
		return serve();
	if (argc == 4 || strcmp(argv[4], "straight") == 0)
		straight = take(come(far), bytes);
	if (argc == 4 || strcmp(argv[4], "through") == 0)
		through = take(come_through(door, far), bytes);
	printf("{\"straight\":%.0f,\"through\":%.0f}\n", straight, through);
	return 0;
}

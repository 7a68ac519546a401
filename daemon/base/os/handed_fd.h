/* handed_fd.h - a descriptor goes from a child to its parent, or the reason why there is none. */
#pragma once

#include <stdbool.h>

/* Plain system calls only, for use between fork and exec. r: a descriptor, or -errno. false: nobody gets it. */
bool handed_fd_send(int sock, int r);
/* The descriptor, which exec closes, or -errno: what was sent, or -EIO if the other side has ended before. */
int handed_fd_take(int sock);

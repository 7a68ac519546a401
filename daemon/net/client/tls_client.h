/*
 * tls_client.h - TLS on a connected socket that does not block, as its client; the only file of the daemon that includes
 * OpenSSL's TLS. The certificate has to be for the host, and from an authority that is known.
 */
#pragma once

#include "base/err.h"

struct tls_client;
struct tls_conn;

/* ca_file: authorities to trust, PEM; NULL: the system's, or what SSL_CERT_FILE names. NULL with e. */
struct tls_client *tls_client_new(const char *ca_file, struct err *e);
struct tls_client *tls_client_free(struct tls_client *c);

/* host: a name, or an address without brackets. NULL: there is no memory, or host is none. */
struct tls_conn *tls_conn_new(struct tls_client *c, int fd, const char *host);
struct tls_conn *tls_conn_free(struct tls_conn *t);
/* 1: it is done. -EAGAIN: once the socket is ready. -EPROTO: it failed; tls_conn_why says how. */
int tls_conn_handshake(struct tls_conn *t);
/* As read(2) and send(2): -EAGAIN, or -EPROTO if it broke. */
ssize_t tls_conn_read(struct tls_conn *t, void *p, size_t n);
ssize_t tls_conn_write(struct tls_conn *t, const void *p, size_t n);
/* What came last to -EAGAIN waits until the socket can be written. */
bool tls_conn_wants_room(const struct tls_conn *t);
/* Bytes are here that no socket tells of. */
bool tls_conn_has_more(const struct tls_conn *t);
const char *tls_conn_why(const struct tls_conn *t);

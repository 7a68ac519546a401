/*
 * tls_client.c - the client side of TLS 1.2 and later on a non-blocking socket, by OpenSSL.
 *
 * The certificate is always verified, and must be valid for the host. An address is matched as an
 * address and gets no SNI, which carries names only (RFC 6066, section 3). The error queue of
 * OpenSSL belongs to the thread: it is cleared before each call. Partial writes and a moving buffer
 * are enabled, because the output buffer of the caller changes between two tries.
 */
#include "net/client/tls_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct tls_client {
	SSL_CTX *ctx;
};

struct tls_conn {
	SSL *ssl;
	bool wants_room;
	char why[160];
};

static bool trust(SSL_CTX *ctx, const char *ca_file)
{
	return ca_file ? SSL_CTX_load_verify_locations(ctx, ca_file, NULL) == 1 :
			 SSL_CTX_set_default_verify_paths(ctx) == 1;
}

struct tls_client *tls_client_new(const char *ca_file, struct err *e)
{
	struct tls_client *c = new0(struct tls_client);

	c->ctx = SSL_CTX_new(TLS_client_method());
	if (c->ctx && SSL_CTX_set_min_proto_version(c->ctx, TLS1_2_VERSION) == 1 &&
	    trust(c->ctx, ca_file)) {
		SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
		SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
						 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
		return c;
	}
	ERR_clear_error();
	err_field(e, "ca-file", "OPTION_INVALID", "--ca-file: there are no certificates in %s",
		  ca_file ? ca_file : "the system's folder");
	return tls_client_free(c);
}

struct tls_client *tls_client_free(struct tls_client *c)
{
	if (c)
		SSL_CTX_free(c->ctx);
	free(c);
	return NULL;
}

/* The certificate of an address names it as one; and it is no name that is said to the server. */
static bool expect_host(SSL *ssl, const char *host)
{
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1)
		return true;
	return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* HTTP/1.1 and nothing else is spoken behind it. */
static bool offer_protocol(SSL *ssl)
{
	static const unsigned char http11[] = "\x08http/1.1";

	return SSL_set_alpn_protos(ssl, http11, sizeof(http11) - 1) == 0;
}

struct tls_conn *tls_conn_new(struct tls_client *c, int fd, const char *host)
{
	struct tls_conn *t = new0(struct tls_conn);

	t->ssl = SSL_new(c->ctx);
	if (t->ssl && SSL_set_fd(t->ssl, fd) == 1 && expect_host(t->ssl, host) &&
	    offer_protocol(t->ssl))
		return t;
	ERR_clear_error();
	return tls_conn_free(t);
}

/* The socket stays the caller's: SSL_set_fd does not close it. No close_notify is sent. */
struct tls_conn *tls_conn_free(struct tls_conn *t)
{
	if (t)
		SSL_free(t->ssl);
	free(t);
	return NULL;
}

/* The verdict comes first: OpenSSL's queue only says that the verification failed, not why. */
static void note_why(struct tls_conn *t)
{
	long verdict = SSL_get_verify_result(t->ssl);
	const char *text = ERR_reason_error_string(ERR_peek_error());

	if (verdict != X509_V_OK)
		snprintf(t->why, sizeof(t->why), "its certificate is not trusted: %s",
			 X509_verify_cert_error_string(verdict));
	else
		snprintf(t->why, sizeof(t->why), "TLS failed%s%s", text ? ": " : "",
			 text ? text : "");
}

/* What a call came to that did not do it. An end without a farewell is one: HTTP says whether something is missing. */
static ssize_t tls_refused(struct tls_conn *t, int r)
{
	int kind = SSL_get_error(t->ssl, r);

	t->wants_room = kind == SSL_ERROR_WANT_WRITE;
	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (kind == SSL_ERROR_ZERO_RETURN)
		return 0;
	note_why(t);
	return -EPROTO;
}

int tls_conn_handshake(struct tls_conn *t)
{
	int r;

	ERR_clear_error();
	r = SSL_connect(t->ssl);
	if (r == 1)
		return 1;
	/* A peer that closes within the handshake (0) has failed, too. */
	return tls_refused(t, r) == -EAGAIN ? -EAGAIN : -EPROTO;
}

ssize_t tls_conn_read(struct tls_conn *t, void *p, size_t n)
{
	size_t got;
	int r;

	ERR_clear_error();
	r = SSL_read_ex(t->ssl, p, n, &got);
	return r == 1 ? (ssize_t)got : tls_refused(t, r);
}

ssize_t tls_conn_write(struct tls_conn *t, const void *p, size_t n)
{
	size_t gone;
	int r;

	ERR_clear_error();
	r = SSL_write_ex(t->ssl, p, n, &gone);
	if (r == 1)
		return (ssize_t)gone;
	/* There is no end of the stream for a writer: a peer that has closed (0) is an error. */
	return tls_refused(t, r) == -EAGAIN ? -EAGAIN : -EPROTO;
}

bool tls_conn_wants_room(const struct tls_conn *t)
{
	return t->wants_room;
}

/* SSL_pending would miss a record that was received but is not decrypted yet. */
bool tls_conn_has_more(const struct tls_conn *t)
{
	return SSL_has_pending(t->ssl) == 1;
}

const char *tls_conn_why(const struct tls_conn *t)
{
	return t->why;
}

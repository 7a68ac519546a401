/* file_body.h - a file as the body of a reply: streamed, whole or the part that a Range header asks for. */
#pragma once

#include "http/routes/handlers.h"

/* Owns fd. type: must live until ret's head is written. Answers 416 if the range begins after the end. */
void http_reply_file(const struct http_call *c, struct http_reply *ret, int fd, uint64_t size,
		     const char *type);

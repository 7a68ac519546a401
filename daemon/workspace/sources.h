/*
 * sources.h - what a request takes its files from: uploaded archives, skills of the image, directories in the sandbox.
 * Asked for before anything is done for the request, and be it a directory made, so that the commonest mistake (an
 * archive that was not uploaded, or has gone from the store) has no effect at all. What is in them is for acpd-unpack
 * to say.
 *
 * An archive that is there can go before it is used: its user pins it, and has to expect that this fails.
 */
#pragma once

#include "workspace/request.h"
#include "workspace/workspaces.h"

/* ARCHIVE_NOT_FOUND or SKILL_NOT_FOUND with the field; prefix as in request_parse. */
int sources_check(const struct workspaces *ws, const struct request *r, const char *prefix,
		  struct err *e);
/* Where the directory of a skill that comes from no archive is; NULL: the image has none. The caller frees. */
char *sources_skill_path(const struct workspaces *ws, const struct request_skill *s);

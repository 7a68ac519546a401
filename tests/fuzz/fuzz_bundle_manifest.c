/* manifest.json of a bundle: what is taken names only members that a bundle may have, each once, within its bounds, and each can
 * be found; what is not has a reason of the list. */
#include "fuzz.h"

#include "unpack/export/bundle.h"

#include <errno.h>

static bool known(const char *reason)
{
	static const char *const reasons[] = { "BUNDLE_INVALID", "BUNDLE_VERSION", "TOO_LARGE",
					       "TOO_MANY_ENTRIES" };

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strcmp(reasons[i], reason) == 0)
			return true;
	return false;
}

static void check_taken(struct bundle_manifest *m)
{
	uint64_t bytes = 0;

	FUZZ_CHECK(m->session_id && m->n <= BUNDLE_FILES_MAX && m->bytes <= BUNDLE_BYTES_MAX);
	for (size_t i = 0; i < m->n; i++) {
		const char *path = m->files[i].path;

		FUZZ_CHECK(bundle_name_allowed(path) && *path != '/' && !strstr(path, ".."));
		FUZZ_CHECK(!i || strcmp(m->files[i - 1].path, path) < 0);
		FUZZ_CHECK(bundle_manifest_find(m, path) == &m->files[i] && !m->files[i].seen);
		bytes += m->files[i].bytes;
	}
	FUZZ_CHECK(bytes == m->bytes && !bundle_manifest_find(m, "no such member"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exact_free) struct slice text = exact(data, size);
	struct bundle_manifest m;
	struct verdict v = { 0 };
	int r = bundle_manifest_parse(text, &m, &v);

	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	if (r == 0)
		check_taken(&m);
	else
		FUZZ_CHECK(v.kind == VERDICT_REFUSED && known(v.reason) && *v.message);
	bundle_manifest_done(&m);
	return 0;
}

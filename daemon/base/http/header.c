#include "base/http/header.h"

bool header_name_ok(struct slice s)
{
	static const char more[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

		if (!c || (!alnum && !strchr(more, c)))
			return false;
	}
	return s.n > 0;
}

bool header_value_ok(const char *value)
{
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return true;
}

#include "json/jpretty.h"

#include <cjson/cJSON.h>

char *jpretty(struct slice text)
{
	cJSON *tree = cJSON_ParseWithLength(text.p, text.n);
	char *out = tree ? cJSON_Print(tree) : NULL; /* malloc'd: cJSON's hooks are the defaults */

	cJSON_Delete(tree);
	return out;
}

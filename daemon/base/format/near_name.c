#include "base/format/near_name.h"

#include "base/util.h"

unsigned near_name_distance(const char *a, const char *b)
{
	unsigned row[NEAR_NAME_MAX], n = (unsigned)strlen(b);

	if (n >= NEAR_NAME_MAX)
		return UINT32_MAX;
	for (unsigned k = 0; k <= n; k++)
		row[k] = k;
	for (unsigned i = 1; *a; a++, i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			unsigned replaced = corner + (*a != b[k - 1]);

			corner = row[k];
			row[k] = MIN(replaced, MIN(row[k], row[k - 1]) + 1);
		}
	}
	return row[n];
}

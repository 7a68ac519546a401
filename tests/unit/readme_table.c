#include "readme_table.h"

#include "base/os/file.h"
#include "unit.h"

#define README_MAX (1u << 20)

void check_readme_has(void (*put)(struct buf *ret))
{
	_cleanup_(buf_done) struct buf readme = { 0 }, table = { 0 };

	assert_return_code(file_read("daemon/README.md", README_MAX, &readme), 0);
	buf_add(&readme, "", 1);
	put(&table);
	buf_add(&table, "", 1);
	if (!strstr(readme.data, table.data)) {
		fputs(table.data, stdout); /* what a message of cmocka would cut */
		fail_msg("daemon/README.md does not have this table");
	}
}

#include "base/os/own_code.h"

#include "base/util.h"

#include <link.h>
#include <sys/mman.h>

/* Code that is not writable is unchanged, so the kernel reads dropped pages from the file again. */
static int drop_segments(struct dl_phdr_info *info, size_t size _unused_, void *ctx _unused_)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;

		if (h->p_type == PT_LOAD && (h->p_flags & PF_X) && !(h->p_flags & PF_W))
			madvise((void *)(from & ~(page - 1)), (to - from) & ~(page - 1),
				MADV_DONTNEED);
	}
	return 0;
}

void own_code_drop(void)
{
	dl_iterate_phdr(drop_segments, NULL);
}

#include "proc/spaces/overlay.h"

#include "base/util.h"

#include <fcntl.h>
#include <sys/mount.h>

static int overlay_set(int fs, const char *key, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) < 0 ? -errno : 0;
}

/* The path of a descriptor has no ':', which overlayfs takes for a separator of lower directories. */
static int set_dir(int fs, const char *key, int dir)
{
	return dir < 0 ? dir : overlay_set(fs, key, SHORT_TEXT(40, "/proc/self/fd/%d", dir));
}

static int overlay_open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int configure(int fs, const struct overlay_spec *spec)
{
	_cleanup_(closep) int upper = overlay_open_dir(spec->upper),
			      work = overlay_open_dir(spec->work);
	int r = set_dir(fs, "lowerdir", spec->lower);

	if (r == 0)
		r = set_dir(fs, "upperdir", upper);
	if (r == 0)
		r = set_dir(fs, "workdir", work);
	if (r == 0)
		/* A renamed directory is then a rename in the upper one; without it the kernel answers EXDEV, and programs copy. */
		r = overlay_set(fs, "redirect_dir", "on");
	if (r == 0)
		/* The upper directory is read as the list of changes: a file in it must have its bytes. */
		r = overlay_set(fs, "metacopy", "off");
	if (r == 0)
		r = overlay_set(fs, "index", "off");
	return r == 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : r;
}

int overlay_mount(const struct overlay_spec *spec, struct err *e)
{
	_cleanup_(closep) int fs = fsopen("overlay", FSOPEN_CLOEXEC), mount = -1;
	int r = fs < 0 ? -errno : configure(fs, spec);

	if (r < 0)
		return err_set(e, r, 0, "", "no overlay can be made here: %s", strerror(-r));
	mount = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (mount < 0 || move_mount(mount, "", AT_FDCWD, spec->at, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_set(e, -errno, 0, "", "the overlay cannot be mounted: %s",
			       strerror(errno));
	return 0;
}

/* A path can have several mounts on top of one another; EINVAL says that none is left. */
void overlay_unmount(const char *path)
{
	while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		;
}

/* Propagation is a property of a mount, so the directory is made one first. */
int overlay_make_private(const char *dir)
{
	if (mount(dir, dir, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, dir, NULL, MS_PRIVATE, NULL) < 0)
		return -errno;
	return 0;
}

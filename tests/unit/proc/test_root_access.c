/* test_root_access.c - the ways to root that the files of an image tell, each found, and none where there is none. */
#include "unit.h"

#include "proc/users/root_access.h"

#include <sys/stat.h>

static const char *const files[] = { "passwd",
				     "shadow",
				     "group",
				     "sudoers",
				     "sudoers.d/x",
				     "ssh/sshd_config",
				     "ssh/sshd_config.d/a.conf" };

#define PASSWD                                                                                     \
	"root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n"                    \
	"agent:x:2270:2270::/home/agent:/bin/bash\nmail:x:8:8::/var/mail:/usr/sbin/nologin\n"
#define SHADOW "root:*:1::::::\nuser:!:1::::::\nagent:!:1::::::\nmail::1::::::\n"
#define GROUP "root:x:0:\nsudo:x:27:user\nbuild:x:30:mail,agent\nagent:x:2270:\n"

static void lay(const char *name, const char *text)
{
	mkdir(scratch_path("ssh"), 0755);
	mkdir(scratch_path("ssh/sshd_config.d"), 0755);
	mkdir(scratch_path("sudoers.d"), 0755);
	if (text)
		scratch_write(name, text, strlen(text));
	else
		unlink(scratch_path(name));
}

static void lay_all(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		lay(files[i], NULL);
	lay("passwd", PASSWD);
	lay("shadow", SHADOW);
	lay("group", GROUP);
}

/* The kinds found, in order, joined by blanks. */
static void expect(const char *kinds)
{
	struct root_access w;
	char got[400] = "";

	root_access_find(&w, scratch_dir(), "agent");
	for (size_t i = 0; i < w.n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
			 w.ways[i].kind);
	assert_string_equal(got, kinds);
	assert_false(w.unread);
}

static void test_nothing(void **state _unused_)
{
	lay_all();
	expect("");
	lay("passwd", NULL);
	lay("shadow", NULL);
	lay("group", NULL);
	expect("");
}

static void test_accounts(void **state _unused_)
{
	struct root_access w;

	lay_all();
	lay("shadow", "root::1::::::\nuser::1::::::\nagent:!:1::::::\n");
	expect("EMPTY_PASSWORD EMPTY_PASSWORD");
	root_access_find(&w, scratch_dir(), "agent");
	assert_non_null(strstr(w.ways[0].text, "root"));
	assert_non_null(strstr(w.ways[1].text, "user"));
	/* in passwd itself; an empty shell is /bin/sh */
	lay_all();
	lay("passwd", "root::0:0::/root:/bin/bash\nagent:x:2270:2270::/:\n");
	lay("shadow", "agent::::::::");
	expect("EMPTY_PASSWORD EMPTY_PASSWORD");
	lay_all();
	lay("passwd", "root:x:0:0::/root:/bin/sh\nagent:x:0:0::/:/bin/sh\n");
	expect("AGENT_IS_ROOT");
}

static void test_sudo(void **state _unused_)
{
	static const char *const open[] = {
		"agent ALL=(ALL) NOPASSWD: ALL",
		"user, agent ALL=(ALL:ALL) NOPASSWD:ALL",
		"%build ALL = NOPASSWD: /usr/bin/apt",
		"%agent ALL=NOPASSWD: ALL",
		"%#2270 ALL=NOPASSWD: ALL",
		"#2270 ALL=NOPASSWD: ALL # a comment",
		"ALL ALL=(ALL) NOPASSWD: ALL",
		"agent \\\n ALL=(ALL) \\\n NOPASSWD: ALL",
		"User_Alias A = user : B = %build, root\nB ALL=(ALL) NOPASSWD: ALL",
		"Defaults !authenticate\nagent ALL=(ALL) ALL",
		"agent ALL=(ALL) ALL, NOPASSWD: /bin/true",
	};
	static const char *const closed[] = {
		"%sudo ALL=(ALL:ALL) NOPASSWD: ALL",
		"user ALL=(ALL) NOPASSWD: ALL",
		"agent ALL=(ALL) ALL",
		"# agent ALL=(ALL) NOPASSWD: ALL",
		"#includes agent",
		"User_Alias A = user\nA ALL=(ALL) NOPASSWD: ALL",
		"Defaults !authenticate\nuser ALL=(ALL) ALL",
		"agentx ALL=(ALL) NOPASSWD: ALL",
		"#22701 ALL=(ALL) NOPASSWD: ALL",
	};

	lay_all();
	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		lay("sudoers", open[i]);
		expect("SUDO_NOPASSWD");
	}
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++) {
		lay("sudoers", closed[i]);
		expect("");
	}
	lay("sudoers.d/x", "agent ALL=(ALL) NOPASSWD: ALL\n");
	expect("");
	lay("sudoers", "@includedir /etc/sudoers.d\n");
	expect("SUDO_NOPASSWD");
	lay("sudoers", "#includedir sudoers.d\n");
	expect("SUDO_NOPASSWD");
	lay("sudoers", "@include /etc/sudoers.d/x\n@include /etc/sudoers\n"); /* without an end */
	expect("SUDO_NOPASSWD");
}

static void test_sshd(void **state _unused_)
{
	lay_all();
	lay("ssh/sshd_config", "#PermitEmptyPasswords yes\nPermitEmptyPasswords no\n"
			       "permitEmptyPasswords yes\n");
	expect("");
	lay("ssh/sshd_config", "PermitRootLogin yes\n permitemptypasswords = yes\n");
	expect("SSHD_EMPTY_PASSWORDS");
	lay("ssh/sshd_config",
	    "PermitEmptyPasswords no\nMatch User root\nPermitEmptyPasswords yes\n");
	expect("SSHD_EMPTY_PASSWORDS");
	lay("ssh/sshd_config.d/a.conf", "PermitEmptyPasswords yes");
	lay("ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\nPermitEmptyPasswords no\n");
	expect("SSHD_EMPTY_PASSWORDS");
	lay("ssh/sshd_config",
	    "PermitEmptyPasswords no\nInclude sshd_config.d/*.conf sshd_config\n");
	expect("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_sudo),
		cmocka_unit_test(test_sshd),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_done);
}

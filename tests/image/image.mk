# The steps of e2b.Dockerfile in a Debian 13 root of mmdebstrap, booted with systemd; a part of make test. As root.
.PHONY: boot
boot:
	@$(NODE) tests/image/root.mjs
	$(NODE_TEST) tests/image/boot.test.mjs

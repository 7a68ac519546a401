# The steps of e2b.Dockerfile in a Debian 13 root of mmdebstrap, booted with systemd. As root.
.PHONY: boot image
boot: ui ## the steps of e2b.Dockerfile in a Debian 13 root, booted, as root
	@$(NODE) tests/image/root.mjs
	$(NODE_TEST) tests/image/boot.test.mjs
# Every step of the file itself, by buildah; its sizes by layer, and the same of what it makes. As root, with a network.
image: test-deps ## e2b.Dockerfile built with buildah and booted, as root
	@sh tests/install-deps.sh image
	$(NODE) tests/image/build.mjs
	$(NODE_TEST) tests/image/image.test.mjs

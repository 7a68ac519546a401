# An E2B template with acpd and OpenCode, built from this checkout:
#
#	e2b template create NAME -d e2b.Dockerfile --ready-cmd 'curl -sf http://localhost:2270/health'
#
# E2B reads this file itself. One stage; FROM, COPY and RUN mean what they mean to Docker, most else is ignored. There
# is no CMD: systemd starts acpd, before the snapshot and again after a cold boot. No token belongs in here, every
# sandbox made from the template would share it. See images/README.md.
FROM debian:bookworm

# OpenCode: one executable of one version, with the hash it has to have. npm only fetches it. ripgrep spares OpenCode a
# download at run time; git and the certificates are for everything an agent does; python3 and nodejs run the code of
# runCode (TypeScript needs a node of 22.6 or newer, or tsx: Debian's is older).
RUN export DEBIAN_FRONTEND=noninteractive \
    && apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends ca-certificates git ripgrep nodejs npm python3 \
    && mkdir -p /opt/acpd/harnesses/opencode/bin \
    && cd /opt/acpd/harnesses/opencode \
    && npm install --prefix . --cache ./npm-cache --ignore-scripts --no-save --no-audit --no-fund opencode-linux-x64@1.18.33 \
    && echo 0abbb7c32ab0294c0a7bfa2705f9ff0df5dce5ab721d1f00cccfe393f2a11427 node_modules/opencode-linux-x64/bin/opencode | sha256sum -c - \
    && ln -s ../node_modules/opencode-linux-x64/bin/opencode bin/opencode \
    && apt-get purge -y -qq --auto-remove npm \
    && rm -rf npm-cache /var/lib/apt/lists/*

# The user that harnesses run as: no sudo, and not E2B's own "user", who has it. acpd-fetch and acpd-proxy, which speak to other
# machines, run as users that have nothing.
RUN useradd --uid 2270 --user-group --create-home --shell /bin/bash agent \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin acpd-fetch \
    && useradd --system --user-group --no-create-home --shell /usr/sbin/nologin acpd-proxy \
    && chmod 0700 /home/agent \
    && install -d -m 0755 /srv/workspaces \
    && install -d -m 0700 /etc/acpd

COPY Makefile /usr/src/acpd/Makefile
COPY daemon /usr/src/acpd/daemon
COPY harnesses /usr/src/acpd/harnesses
COPY tools /usr/src/acpd/tools
COPY images /usr/src/acpd/images
COPY tests/install-deps.sh /usr/src/acpd/tests/install-deps.sh

# Into /opt/acpd, because E2B makes /usr/local writable for everyone. Sessions get users of their own, images/acpd.service names the same range. The compiler leaves again in the same step; with
# another base image, take what that image needs out of the purge. The unit is enabled by its symlink: systemd need not
# run during a build. close-logins locks what the platform leaves without a password, now, at each boot and whenever it changes.
RUN export DEBIAN_FRONTEND=noninteractive \
    && cd /usr/src/acpd \
    && sh tests/install-deps.sh build runtime \
    && make \
    && make install PREFIX=/opt/acpd \
    && make install-users \
    && install -D -m 0644 images/acpd.service /etc/systemd/system/acpd.service \
    && mkdir -p /etc/systemd/system/multi-user.target.wants \
    && ln -s /etc/systemd/system/acpd.service /etc/systemd/system/multi-user.target.wants/acpd.service \
    && install -D -m 0755 images/close-logins.sh /opt/acpd/lib/close-logins \
    && install -m 0644 images/acpd-logins.service images/acpd-logins.path /etc/systemd/system/ \
    && ln -s /etc/systemd/system/acpd-logins.service /etc/systemd/system/multi-user.target.wants/acpd-logins.service \
    && ln -s /etc/systemd/system/acpd-logins.path /etc/systemd/system/multi-user.target.wants/acpd-logins.path \
    && /opt/acpd/lib/close-logins \
    && apt-get purge -y -qq --auto-remove $(sh tests/install-deps.sh --list build) \
    && cd / \
    && rm -rf /usr/src/acpd /var/lib/apt/lists/* \
    && chown -R root:root /opt/acpd \
    && chmod -R go-w /opt/acpd \
    && /opt/acpd/bin/acpd --version \
    && /opt/acpd/bin/acpd-fetch --version \
    && /opt/acpd/bin/acpd-proxy --version

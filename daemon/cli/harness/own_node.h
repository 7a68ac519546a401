/*
 * own_node.h - the Node of an image (NODE_DIR, images/README.md) is on the PATH of acpd.service, not on that of a shell.
 * Commands that start harnesses, or ask them their version, find it all the same where no other is on the PATH.
 */
#pragma once

/* Changes the environment: before any thread or child. */
void own_node_add(void);

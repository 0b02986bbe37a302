/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of libsystemd that this project calls; others cannot be linked. The first call loads libsystemd.so.0, and
 * ends the process if it is missing.
 */
#pragma once
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

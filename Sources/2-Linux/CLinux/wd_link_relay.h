/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that carries the packets of a link.
 */
#pragma once

/* Loads libslirp and reports the result by a byte on the control socket: 1 for success, 0 if the library is missing.
 * Then takes the device from the socket and carries packets until the socket closes. Never returns. */
__attribute__((visibility("hidden"), noreturn)) void wd_link_relay(int control);

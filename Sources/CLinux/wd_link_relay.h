/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that carries the packets of a link.
 */
#pragma once

/* Loads libslirp and tells so by a byte on the control socket, 1 if it is there and 0 if not; then takes the device from
 * the socket and carries packets until the socket closes. Never returns. */
__attribute__((visibility("hidden"), noreturn)) void wd_link_relay(int control);

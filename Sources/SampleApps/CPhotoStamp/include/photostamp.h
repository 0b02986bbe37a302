/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Stands for a library without source: it stamps photos, and requires initialization before any other call.
 *
 * Asks a server on 127.0.0.1 whether it is licensed, for as long as that takes. Returns 0, or an errno value when the server
 * cannot be reached; it still works.
 */
int photostamp_initialize(uint16_t port);

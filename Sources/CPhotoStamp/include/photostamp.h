/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * A library of the kind that comes without source: it stamps photos, and wants to be initialised before anything else.
 *
 * Asks a server on 127.0.0.1 whether it is licensed, for as long as that takes. Returns 0, or an errno value when the server
 * cannot be reached; it works all the same.
 */
int photostamp_initialize(uint16_t port);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A logger that is fast because it does its expensive work once, before main: it writes down the date and time of each
 * minute of the next five years (times $SAMPLE_TIME_SCALE), so that it need not format one later. Every program that
 * loads the logger pays for this in its launch, whether it logs anything or not.
 */

/* Writes one line to standard error, with the date and time in UTC. */
void superfast_log(const char *message);

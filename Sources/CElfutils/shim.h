/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

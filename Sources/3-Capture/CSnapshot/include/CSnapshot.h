/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "wd_sampler.h"
#include "wd_snapshot.h"
#include "wd_snapshot_format.h"

// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The real binaries with real programs, one at a time, because deadlines mean little on a machine that does ten things
/// at once.
@Suite("watchdogd, end to end", .serialized, .reapsChildren)
enum EndToEnd {}

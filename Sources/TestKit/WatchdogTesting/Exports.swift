// SPDX-License-Identifier: Apache-2.0

// Types that tests use in expectations, exported so that one import is enough.
@_exported public import enum WatchdogPolicy.LifecycleState
@_exported public import struct WatchdogPolicy.TerminationCode
@_exported public import enum WatchdogPolicy.WatchdogEvent
@_exported public import struct WatchdogVerdict.Finding
@_exported public import struct WatchdogVerdict.Verdict

// SPDX-License-Identifier: Apache-2.0

// What tests name in expectations, so that one import is enough.
@_exported public import enum WatchdogPolicy.LifecycleState
@_exported public import struct WatchdogPolicy.TerminationCode
@_exported public import enum WatchdogPolicy.WatchdogEvent
@_exported public import struct WatchdogVerdict.Finding
@_exported public import struct WatchdogVerdict.Verdict

// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

@testable import WatchdogWire

/// Whatever a program sends to NOTIFY_SOCKET: decoding survives it, and what is passed on decodes to itself.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzNotifyMessage(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let message = NotifyMessage(decoding: UnsafeBufferPointer(start: start, count: count))
    precondition(message.malformed + message.unknown <= max(1, Wire.Limit.datagram / 2 + 1))
    precondition(message.watchdogTimeout ?? .zero >= .zero)
    for duration in [message.timeoutExtension, message.reloadBegan].compactMap(\.self) {
        precondition(duration > .zero)
    }
    precondition(message.mainProcess ?? 1 > 0)

    let shown = (message.status ?? "").singleLine(limit: 80)
    precondition(shown.unicodeScalars.count <= 80 && !shown.unicodeScalars.contains { $0.value < 0x20 })

    let datagram = message.datagram
    precondition(datagram.count <= Wire.Limit.datagram)
    let again = NotifyMessage(decoding: datagram)
    precondition(again.malformed == 0 && again.unknown == 0)
    precondition(NotifyMessage(decoding: again.datagram) == again)
    return 0
}

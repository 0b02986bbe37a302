// SPDX-License-Identifier: Apache-2.0

// Compiled together with the sources of WatchdogWire into one module, hence no import of it.

/// Whatever comes over a channel, from either side: decoding survives it, and what is passed on decodes to itself.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzChannelMessages(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeBufferPointer(start: start, count: count)

    let fromApp = ClientMessage(decoding: bytes)
    precondition((fromApp.summary ?? "").utf8.count <= Wire.Limit.summary)
    precondition((fromApp.status ?? "").utf8.count <= Wire.Limit.status)
    precondition(fromApp.timeoutExtension ?? .seconds(1) > .zero)
    var expected = fromApp
    (expected.malformed, expected.unknown) = (0, 0)
    // Line ends cannot be inside a decoded text, so that all of it travels.
    precondition(fromApp.datagram.count <= Wire.Limit.datagram)
    precondition(ClientMessage(decoding: fromApp.datagram) == expected)

    let fromSupervisor = SupervisorMessage(decoding: bytes)
    var expectedBack = fromSupervisor
    (expectedBack.malformed, expectedBack.unknown) = (0, 0)
    precondition(fromSupervisor.datagram.count <= Wire.Limit.datagram)
    precondition(SupervisorMessage(decoding: fromSupervisor.datagram) == expectedBack)
    return 0
}

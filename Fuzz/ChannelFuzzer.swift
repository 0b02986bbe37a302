// SPDX-License-Identifier: Apache-2.0

@testable import WatchdogWire

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
    // Line ends cannot be inside a decoded text, so that all of it travels; U+FFFD is longer than what it replaces, so that
    // one datagram may become several.
    var (rest, travelled) = (expected, ClientMessage())
    while rest != ClientMessage() {
        let (datagram, remainder) = rest.encoded
        precondition(!datagram.isEmpty && datagram.count <= Wire.Limit.datagram)
        travelled.append(ClientMessage(decoding: datagram))
        rest = remainder
    }
    precondition(travelled == expected)

    let fromSupervisor = SupervisorMessage(decoding: bytes)
    var expectedBack = fromSupervisor
    (expectedBack.malformed, expectedBack.unknown) = (0, 0)
    precondition(fromSupervisor.datagram.count <= Wire.Limit.datagram)
    precondition(SupervisorMessage(decoding: fromSupervisor.datagram) == expectedBack)
    return 0
}

extension ClientMessage {
    /// Adds the lists of a message that continues this one, or all of the first one.
    fileprivate mutating func append(_ next: ClientMessage) {
        guard self != ClientMessage() else {
            self = next
            return
        }
        stateDone = stateDone ?? next.stateDone
        tasksBegun += next.tasksBegun
        tasksEnded += next.tasksEnded
        launchTasksBegun += next.launchTasksBegun
        launchTasksEnded += next.launchTasksEnded
        signposts += next.signposts
        (malformed, unknown) = (malformed + next.malformed, unknown + next.unknown)
    }
}

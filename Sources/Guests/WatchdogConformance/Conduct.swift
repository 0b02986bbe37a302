// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogWire

/// The messages that a client sent during one launch, and the protocol errors in them.
public struct Conduct: Sendable {
    /// A received message.
    public struct Heard: Sendable {
        /// The decoded message.
        public let message: ClientMessage
        /// The time of arrival.
        public let time: Instant
    }

    /// The maximum number of messages to keep: more than any test needs, because a client may send without end.
    static let most = 65_536

    /// The first ``most`` messages, in order.
    public private(set) var heard: [Heard] = []
    /// Protocol errors, without duplicates.
    public private(set) var faults: [String] = []
    private var tasksBegun: Set<UInt64> = []
    private var tasksEnded: Set<UInt64> = []

    /// Creates an empty record.
    public init() {}

    /// Decodes one datagram, and records its message or what is wrong with it.
    public mutating func take(_ datagram: [UInt8], isTruncated: Bool = false, at time: Instant) {
        let message = ClientMessage(decoding: datagram)
        if datagram.isEmpty { note("it sends empty datagrams, which mean the end of the channel") }
        if isTruncated { note("it sends datagrams of more than \(Wire.Limit.datagram) bytes") }
        if message.malformed > 0 { note("it sends malformed lines: \(Self.sample(of: datagram))") }
        if message.unknown > 0 { note("it sends keys that the protocol does not have: \(Self.sample(of: datagram))") }
        if message.hello != nil, heard.contains(where: { $0.message.hello != nil }) { note("it sends HELLO twice") }
        if let version = message.hello?.version, version != Wire.version {
            note("it speaks version \(version) of the protocol, and not \(Wire.version)")
        }
        for task in message.tasksBegun where !tasksBegun.insert(task.id).inserted {
            note("it uses the number of background task \(task.id) twice")
        }
        for id in message.tasksEnded where !tasksBegun.contains(id) {
            note("it ends background task \(id), which it has not begun")
        }
        tasksEnded.formUnion(message.tasksEnded)
        guard heard.count < Self.most else { return note("it sends more than \(Self.most) messages in one launch") }
        heard.append(Heard(message: message, time: time))
    }

    /// The greeting, nil before it arrived.
    public var hello: ClientMessage.Hello? { heard.lazy.compactMap(\.message.hello).first }
    /// Whether the first message was the greeting; nil before the first message.
    public var beginsWithHello: Bool? { heard.first.map { $0.message.hello != nil } }
    /// Whether the client has reported that it is ready.
    public var isReady: Bool { heard.contains { $0.message.isReady } }
    /// The background tasks that were begun and not ended.
    public var openTasks: Set<UInt64> { tasksBegun.subtracting(tasksEnded) }
    /// The answers to pings, in order.
    public var pongs: [UInt64] { heard.compactMap(\.message.pong) }

    /// The time at which the client answered this ping; nil if it did not.
    public func answer(to ping: UInt64, since: Int = 0) -> Instant? {
        heard.dropFirst(since).first { $0.message.pong == ping }?.time
    }

    /// Whether a state with this number, or a later one, is done.
    public func isStateDone(_ id: UInt64, since: Int = 0) -> Bool {
        heard.dropFirst(since).contains { $0.message.stateDone.map { $0 >= id } ?? false }
    }

    /// The time at which this event, or a later one, was done; nil before.
    public func eventDone(_ id: UInt64) -> Instant? {
        heard.first { $0.message.eventDone.map { $0 >= id } ?? false }?.time
    }

    private mutating func note(_ fault: String) {
        // One line of each kind is enough, and the list stays bounded although a client may send without end.
        let kind = fault.prefix { $0 != ":" }
        guard faults.count < 16, !faults.contains(where: { $0.hasPrefix(kind) }) else { return }
        faults.append(fault)
    }

    /// The beginning of a datagram as printable text, for a message.
    private static func sample(of datagram: [UInt8]) -> String {
        "'\(String(decoding: datagram.prefix(60), as: UTF8.self).singleLine())'"
    }
}

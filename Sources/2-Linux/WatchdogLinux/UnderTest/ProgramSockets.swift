// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The notify socket and the channel of a program that is launched to be observed, in a directory of their own.
///
/// Isolation: belongs to one thread.
public final class ProgramSockets {
    /// The socket that a message came through.
    public enum Source: Sendable {
        /// The notify socket: sd_notify(3).
        case notify
        /// The channel.
        case channel
    }

    /// A program that sends without end must not keep ``receive(_:)`` or ``renew()`` from returning.
    private static let mostMessages = 1_000

    private let directory: RuntimeDirectory
    private let notify: NotifySocket
    private var channel: Channel?
    /// The program's end of the channel; to be released once the program exists.
    public private(set) var programEnd: OwnedDescriptor?

    /// Binds the notify socket and creates the channel.
    ///
    /// - Parameter name: of the socket in its directory.
    public init(name: String) throws(LinuxError) {
        directory = try RuntimeDirectory.create()
        notify = try NotifySocket(in: directory, name: name)
        let pair = try Channel.pair()
        (channel, programEnd) = (pair.supervisor, pair.app)
    }

    deinit { directory.remove() }

    /// The value of `NOTIFY_SOCKET`.
    public var address: String { notify.address }

    /// The descriptors to wait for.
    public var descriptors: [Int32] {
        [notify.descriptor.number] + [channel?.descriptor.number].compactMap(\.self)
    }

    /// Whether the program, or anything that has its end, can still use the channel.
    public var isChannelOpen: Bool { channel != nil }

    /// Releases the program's end of the channel, so that it closes with the program.
    public func releaseProgramEnd() { programEnd = nil }

    /// Creates a channel for the next program, and forgets what the one before said.
    ///
    /// Only of somebody who keeps sending meanwhile, something may be left.
    public func renew() throws(LinuxError) {
        for _ in 0..<Self.mostMessages {
            guard try notify.receive() != nil else { break }
        }
        let pair = try Channel.pair()
        (channel, programEnd) = (pair.supervisor, pair.app)
    }

    /// Sends a message through the channel, if it is open and has room.
    public func send(_ bytes: [UInt8]) { _ = try? channel?.send(bytes) }

    /// Passes on what has arrived since the last call, but for messages of strangers; closes a channel that has ended.
    public func receive(_ body: (Source, SocketMessage) -> Void) {
        for _ in 0..<Self.mostMessages {
            guard let message = try? notify.receive() else { break }
            if message.isOfLaunch { body(.notify, message) }
        }
        for _ in 0..<Self.mostMessages {
            switch try? channel?.receive() {
            case .message(let message): body(.channel, message)
            case .nothing: return
            case .closed, nil: return channel = nil
            }
        }
    }
}

extension SocketMessage {
    /// Whether a process that this one has launched sent the message.
    ///
    /// Everything that descends from this process counts, and so, in a ``Subreaper``, do orphans. The user alone is no
    /// proof: other programs run for the same one. It decides only about a sender that has exited, such as
    /// systemd-notify(1), whose parents are not known anymore: root and the user of this process, who is the launch's,
    /// are believed then.
    var isOfLaunch: Bool {
        let own = getpid()
        var process = senderProcess
        for _ in 0..<64 {
            guard process > 1, let parent = ProcessStat.read(process)?.parent else { break }
            if parent == own { return true }
            process = parent
        }
        let hasExited = senderProcess > 0 && ProcessStat.read(senderProcess) == nil
        return hasExited && (senderUser == geteuid() || senderUser == 0)
    }
}

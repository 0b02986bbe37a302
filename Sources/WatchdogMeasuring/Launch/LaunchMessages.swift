// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogMeasurement
import WatchdogWire

/// The sockets on which a measured program says how far its launch has come.
final class LaunchMessages {
    /// The number of the channel in the program; the first one after the standard streams.
    private static let channelNumber: Int32 = 3

    private let directory: RuntimeDirectory
    private let notify: NotifySocket
    private var channel: Channel?

    /// Binds the notify socket.
    init() throws(LinuxError) {
        directory = try RuntimeDirectory.create()
        notify = try NotifySocket(in: directory, name: "measure")
    }

    deinit { directory.remove() }

    /// The descriptors to wait for.
    var descriptors: [Int32] { [notify.descriptor.number] + [channel?.descriptor.number].compactMap(\.self) }

    /// Adds both sockets to a request, and forgets what an earlier program said.
    ///
    /// - Returns: the program's end of the channel, to be released after the launch.
    func prepare(_ request: inout SpawnRequest) throws(LinuxError) -> OwnedDescriptor {
        while try notify.receive() != nil {}
        let pair = try Channel.pair()
        channel = pair.supervisor
        request.environment[Wire.Environment.notifySocket] = notify.address
        request.environment[Wire.Environment.channel] = "\(Self.channelNumber)"
        request.descriptors.append(.init(pair.app.number, as: Self.channelNumber))
        return pair.app
    }

    /// What the program has sent since the last call, with the time of each message.
    func receive() -> [(signal: LaunchGoal, time: Instant)] {
        var signals: [(signal: LaunchGoal, time: Instant)] = []
        // A program that sends without end must not keep this from returning.
        for _ in 0..<256 {
            guard let message = try? notify.receive() else { break }
            let isOwn = message.senderUser == geteuid() || message.senderUser == 0 || geteuid() == 0
            // The age is by the wall clock, which somebody may have set meanwhile.
            let age = message.age > .zero && message.age < .seconds(1) ? message.age : .zero
            guard isOwn else { continue }
            let said = NotifyMessage(decoding: message.bytes)
            let flags = (said.isReady, said.isFirstFrame, said.isUseful)
            signals += Self.signals(flags).map { ($0, .now() - age) }
        }
        for _ in 0..<256 {
            guard let channel, case .message(let message)? = try? channel.receive() else { break }
            let said = ClientMessage(decoding: message.bytes)
            let flags = (said.isReady, said.isFirstFrame, said.isUseful)
            signals += Self.signals(flags).map { ($0, .now()) }
        }
        return signals
    }
    /// Whether the channel's other end is closed, so that waiting for it is pointless.
    func dropClosedChannel() {
        guard let channel else { return }
        var entry = pollfd(fd: channel.descriptor.number, events: 0, revents: 0)
        if poll(&entry, 1, 0) == 1, entry.revents & Int16(POLLHUP) != 0 { self.channel = nil }
    }

    private static func signals(_ flags: (ready: Bool, firstFrame: Bool, useful: Bool)) -> [LaunchGoal] {
        var signals: [LaunchGoal] = []
        if flags.ready { signals.append(.ready) }
        if flags.firstFrame { signals.append(.firstFrame) }
        if flags.useful { signals.append(.useful) }
        return signals
    }
}

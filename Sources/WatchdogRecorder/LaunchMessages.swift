// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogRecording
import WatchdogWire

/// What the program reports itself, by sd_notify(3) or through the channel of the `Watchdog` library.
///
/// Isolation: belongs to one thread.
final class LaunchMessages {
    /// Marks beyond this number are dropped.
    private static let limit = 10_000

    let notify: NotifySocket
    let channel: Channel
    /// The program's end of the channel; released once the program exists.
    private(set) var appEnd: OwnedDescriptor?
    private let directory: RuntimeDirectory
    private(set) var isChannelOpen = true
    private(set) var marks: [(kind: LaunchMark.Kind, time: Instant, name: String?)] = []

    init() throws(LinuxError) {
        directory = try RuntimeDirectory.create()
        notify = try NotifySocket(in: directory, name: "record")
        let pair = try Channel.pair()
        (channel, appEnd) = (pair.supervisor, pair.app)
    }

    deinit { directory.remove() }

    /// The program's environment.
    func environment(from given: Environment) -> Environment {
        var environment = given
        for name in [
            Wire.Environment.watchdogMicroseconds, Wire.Environment.watchdogProcess, Wire.Environment.state,
            Wire.Environment.event,
        ] { environment[name] = nil }
        environment[Wire.Environment.notifySocket] = notify.address
        environment[Wire.Environment.channel] = appEnd.map { "\($0.number)" }
        return environment
    }

    /// What only the program's processes have in their environment.
    var marker: String { "\(Wire.Environment.notifySocket)=\(notify.address)" }

    func releaseAppEnd() { appEnd = nil }

    /// Reads what has arrived from the program's processes.
    func receive(
        from process: Int32, requested: Instant, now: Instant
    ) -> [(event: LaunchEndJudge.Event, time: Instant)] {
        var events: [(LaunchEndJudge.Event, Instant)] = []
        for _ in 0..<1000 {
            guard let message = try? notify.receive() else { break }
            guard isOwn(message.senderProcess, process) else { continue }
            events += take(ClientMessage(NotifyMessage(decoding: message.bytes)), of: message, requested, now)
        }
        for _ in 0..<1000 where isChannelOpen {
            guard case .message(let message)? = try? channel.receive() else {
                isChannelOpen = stillOpen()
                break
            }
            events += take(ClientMessage(decoding: message.bytes), of: message, requested, now)
        }
        return events.map { (event: $0.0, time: $0.1) }
    }

    private func stillOpen() -> Bool {
        var entry = pollfd(fd: channel.descriptor.number, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 0
    }

    /// Whether a sender descends from the program; one that is gone is believed.
    private func isOwn(_ sender: Int32, _ process: Int32) -> Bool {
        var current = sender
        for _ in 0..<32 {
            if current == process { return true }
            guard current > 1, let parent = ProcessStat.read(current)?.parent else { return current == sender }
            current = parent
        }
        return false
    }

    private func take(
        _ client: ClientMessage, of message: SocketMessage, _ requested: Instant, _ now: Instant
    ) -> [(LaunchEndJudge.Event, Instant)] {
        let time = max(now - min(max(message.age, .zero), .seconds(1)), requested)
        var events: [(LaunchEndJudge.Event, Instant)] = []
        func add(_ event: LaunchEndJudge.Event, _ kind: LaunchMark.Kind, _ name: String? = nil) {
            events.append((event, time))
            mark(kind, time, name)
        }
        if client.hello != nil { add(.hello, .hello) }
        for task in client.launchTasksBegun { add(.taskBegun, .extendedBegin, task) }
        for task in client.launchTasksEnded { add(.taskEnded, .extendedEnd, task) }
        for signpost in client.signposts {
            let moment = Instant(nanoseconds: min(max(signpost.nanoseconds, requested.nanoseconds), now.nanoseconds))
            mark(
                .signpost, moment,
                signpost.phase == .event ? signpost.name : "\(signpost.name) \(signpost.phase.rawValue)")
            events.append((.signpost, time))
        }
        if client.isFirstFrame { add(.firstFrame, .firstFrame) }
        if client.isReady { add(.ready, .ready) }
        if client.isUseful { add(.useful, .useful) }
        return events
    }

    private func mark(_ kind: LaunchMark.Kind, _ time: Instant, _ name: String?) {
        if marks.count < Self.limit { marks.append((kind, time, name)) }
    }
}

extension ClientMessage {
    /// What a program may say of its launch on the notify socket.
    fileprivate init(_ message: NotifyMessage) {
        self.init()
        (isReady, isFirstFrame, isUseful) = (message.isReady, message.isFirstFrame, message.isUseful)
    }
}

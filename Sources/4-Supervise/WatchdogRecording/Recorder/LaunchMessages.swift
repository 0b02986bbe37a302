// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogWire

/// The program's own reports, by sd_notify(3) or through the channel of the `Watchdog` library.
///
/// Isolation: belongs to one thread.
final class LaunchMessages {
    /// The maximum number of marks; further ones are dropped.
    private static let limit = 10_000

    let sockets: ProgramSockets
    private(set) var marks: [(kind: LaunchMark.Kind, time: Instant, name: String?)] = []

    init() throws(LinuxError) { sockets = try ProgramSockets(name: "record") }

    /// The program's environment.
    func environment(from given: Environment) -> Environment {
        var environment = given
        for name in [
            Wire.Environment.watchdogMicroseconds, Wire.Environment.watchdogProcess, Wire.Environment.state,
            Wire.Environment.event,
        ] { environment[name] = nil }
        environment[Wire.Environment.notifySocket] = sockets.address
        environment[Wire.Environment.channel] = sockets.programEnd.map { "\($0.number)" }
        return environment
    }

    /// What only the program's processes have in their environment.
    var marker: String { "\(Wire.Environment.notifySocket)=\(sockets.address)" }

    /// Reads what has arrived from the program's processes.
    func receive(requested: Instant, now: Instant) -> [(event: LaunchEndJudge.Event, time: Instant)] {
        var events: [(event: LaunchEndJudge.Event, time: Instant)] = []
        sockets.receive { source, message in
            let client =
                switch source {
                case .notify: ClientMessage(NotifyMessage(decoding: message.bytes))
                case .channel: ClientMessage(decoding: message.bytes)
                }
            events += take(client, of: message, requested, now)
        }
        return events
    }

    private func take(
        _ client: ClientMessage, of message: SocketMessage, _ requested: Instant, _ now: Instant
    ) -> [(event: LaunchEndJudge.Event, time: Instant)] {
        let time = max(now - min(max(message.age, .zero), .seconds(1)), requested)
        var events: [(event: LaunchEndJudge.Event, time: Instant)] = []
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
    /// Takes the parts of a notification that are about the launch.
    fileprivate init(_ message: NotifyMessage) {
        self.init()
        (isReady, isFirstFrame, isUseful) = (message.isReady, message.isFirstFrame, message.isUseful)
    }
}

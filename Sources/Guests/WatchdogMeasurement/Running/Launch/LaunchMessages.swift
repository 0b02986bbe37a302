// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogWire

/// What a measured program says of its launch.
final class LaunchMessages {
    private let sockets: ProgramSockets

    /// Binds the notify socket.
    init() throws(LinuxError) { sockets = try ProgramSockets(name: "measure") }

    /// The descriptors to wait for.
    var descriptors: [Int32] { sockets.descriptors }

    /// Adds both sockets to a request, and forgets what an earlier program said.
    func prepare(_ request: inout SpawnRequest) throws(LinuxError) {
        try sockets.renew()
        sockets.pass(to: &request)
    }

    /// Releases the program's end of the channel, once the program exists or will not.
    func releaseProgramEnd() { sockets.releaseProgramEnd() }

    /// What the program has sent since the last call, with the time of each message.
    func receive() -> [(signal: LaunchGoal, time: Instant)] {
        var signals: [(signal: LaunchGoal, time: Instant)] = []
        sockets.receive { source, message in
            let now = Instant.now()
            switch source {
            case .notify:
                // The age is by the wall clock, which somebody may have set meanwhile.
                let age = message.age > .zero && message.age < .seconds(1) ? message.age : .zero
                let said = NotifyMessage(decoding: message.bytes)
                signals += Self.signals((said.isReady, said.isFirstFrame, said.isUseful)).map { ($0, now - age) }
            case .channel:
                let said = ClientMessage(decoding: message.bytes)
                signals += Self.signals((said.isReady, said.isFirstFrame, said.isUseful)).map { ($0, now) }
            }
        }
        return signals
    }

    private static func signals(_ flags: (ready: Bool, firstFrame: Bool, useful: Bool)) -> [LaunchGoal] {
        var signals: [LaunchGoal] = []
        if flags.ready { signals.append(.ready) }
        if flags.firstFrame { signals.append(.firstFrame) }
        if flags.useful { signals.append(.useful) }
        return signals
    }
}

extension ProgramSockets {
    /// Passes the program both sockets; the channel is its first descriptor after the standard streams.
    func pass(to request: inout SpawnRequest) {
        request.environment[Wire.Environment.notifySocket] = address
        request.environment[Wire.Environment.channel] = "3"
        if let programEnd { request.descriptors.append(.init(programEnd.number, as: 3)) }
    }
}

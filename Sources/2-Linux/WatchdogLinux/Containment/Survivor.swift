// SPDX-License-Identifier: Apache-2.0

/// A process that still exists after its app was killed.
public struct Survivor: Hashable, Sendable, CustomStringConvertible {
    /// The process ID.
    public let pid: Int32
    /// The name of the command, at most 15 bytes.
    public let name: String
    /// The process's state; ``ProcessStat/State/uninterruptible`` is why a killed process does not die.
    public let state: ProcessStat.State
    /// The kernel function that it waits in; nil when it does not wait or the name is hidden.
    public let waitChannel: String?

    /// Creates a survivor from its parts.
    public init(
        pid: Int32,
        name: String,
        state: ProcessStat.State,
        waitChannel: String?
    ) {
        self.pid = pid
        self.name = name
        self.state = state
        self.waitChannel = waitChannel
    }

    init?(_ pid: Int32) {
        guard let stat = ProcessStat.read(pid) else { return nil }
        self.init(stat)
    }

    init(_ stat: ProcessStat) {
        pid = stat.id
        name = stat.name
        state = stat.state
        waitChannel = WaitChannel.read(stat.id, thread: stat.id)
    }

    /// "nfsd-client (1234), state D in rpc_wait_bit_killable".
    public var description: String {
        "\(name) (\(pid)), state \(state.letter)" + (waitChannel.map { " in \($0)" } ?? "")
    }
}

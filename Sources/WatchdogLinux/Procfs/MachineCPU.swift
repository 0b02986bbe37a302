// SPDX-License-Identifier: Apache-2.0

/// What all CPUs of the machine together have done since boot: proc_stat(5).
public struct MachineCPU: Hashable, Sendable {
    /// In user mode, niced or not.
    public let userTime: Duration
    /// In the kernel, interrupts included.
    public let systemTime: Duration
    /// Taken away by the hypervisor while there was work.
    public let stolenTime: Duration
    /// Idle, or with nothing to do but waiting for I/O.
    public let idleTime: Duration

    /// Creates values from their parts.
    public init(
        userTime: Duration,
        systemTime: Duration,
        stolenTime: Duration,
        idleTime: Duration
    ) {
        self.userTime = userTime
        self.systemTime = systemTime
        self.stolenTime = stolenTime
        self.idleTime = idleTime
    }

    /// The time in which the CPUs worked for this machine.
    public var busyTime: Duration { userTime + systemTime }

    /// Reads the present values; nil without `/proc`.
    public static func read() -> MachineCPU? {
        // One line for all CPUs comes first.
        Procfs.read("/proc/stat", limit: 4096).flatMap { MachineCPU(parsing: $0, tick: ProcessCPU.clockTick) }
    }

    init?(parsing text: some Collection<UInt8>, tick: Duration) {
        let line = text.prefix { $0 != UInt8(ascii: "\n") }
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.first?.elementsEqual("cpu".utf8) == true else { return nil }
        // The guests' time, in later fields, is contained in user and nice.
        let ticks = fields.dropFirst().prefix(8).compactMap { Int64(decimal: $0) }
        guard ticks.count == 8 else { return nil }
        func time(_ indices: Int...) -> Duration {
            indices.reduce(.zero) { $0 + tick * ticks[$1] }
        }
        userTime = time(0, 1)
        systemTime = time(2, 5, 6)
        idleTime = time(3, 4)
        stolenTime = time(7)
    }
}

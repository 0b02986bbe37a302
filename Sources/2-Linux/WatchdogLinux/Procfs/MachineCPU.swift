// SPDX-License-Identifier: Apache-2.0

/// How the machine's CPUs together have spent their time since boot: proc_stat(5).
public struct MachineCPU: Hashable, Sendable {
    /// In user mode, niced or not.
    public let userTime: Duration
    /// In the kernel, including interrupts.
    public let systemTime: Duration
    /// Taken by the hypervisor while there was work to do.
    public let stolenTime: Duration
    /// Idle, or waiting for I/O with nothing else to do.
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

    /// The time that the CPUs worked for this machine.
    public var busyTime: Duration { userTime + systemTime }

    /// Reads the current values; nil without `/proc`.
    public static func read() -> MachineCPU? {
        // The first line is the total of all CPUs.
        Procfs.read("/proc/stat", limit: 4096).flatMap { MachineCPU(parsing: $0, tick: ProcessCPU.clockTick) }
    }

    init?(parsing text: some Collection<UInt8>, tick: Duration) {
        let line = text.prefix { $0 != UInt8(ascii: "\n") }
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.first?.elementsEqual("cpu".utf8) == true else { return nil }
        // User and nice already include the guests' time, which is in later fields.
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

// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLinux
package import WatchdogPolicy

/// What is saved with each sign of life of an app, in a fixed layout of 28 little-endian words.
///
/// A pulse also certifies that everything the preceding checkpoint led to was done.
package struct LaunchPulse: Equatable {
    /// The start of the evidence window.
    package struct Window: Equatable {
        package var at: Instant
        var processCPUTime: Duration
        package var schedule: ThreadSchedule?
    }

    static let byteCount = 28 * 8
    private static let none = Int64.min

    package var machine: ProcessMachine.Pulse?
    var window: Window?
    var pingsSent = 0
    var signsOfLife = 0
    var lastSignOfLife: Instant?
    /// The thread that runs the main loop.
    package var thread: Int32?
    /// Whether later signs of life may be unsaved because they ``says(noMoreThan:)`` this one.
    var isApproximate = false

    init() {}

    /// The last sign of life may be later than the saved one by the allowance divided by this.
    private static let slack = 2

    /// Whether nothing is lost if the next watchdogd finds `saved` and reads it ``asLate(by:)``.
    ///
    /// For an app that is not pinged, successive signs of life differ only in their time.
    func says(noMoreThan saved: LaunchPulse) -> Bool {
        guard let machine, let known = saved.machine, let startedAt = machine.startedAt,
            let knownStart = known.startedAt,
            machine.lastPingSent == nil, startedAt - knownStart < machine.allowance / Self.slack
        else { return false }
        var moved = known
        moved.startedAt = startedAt
        return moved == machine && window == saved.window && thread == saved.thread
    }

    /// The pulse with the latest sign of life that may have gone unsaved.
    func asLate(by now: Instant) -> LaunchPulse {
        guard isApproximate, let machine, machine.lastPingSent == nil, let startedAt = machine.startedAt else {
            return self
        }
        var late = self
        late.machine?.startedAt = max(startedAt, min(now, startedAt + machine.allowance / Self.slack))
        return late
    }

    /// Nil for anything that ``bytes`` cannot have produced.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        let words = bytes.withUnsafeBytes { buffer in
            (0..<28).map { Int64(littleEndian: buffer.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)) }
        }
        func instant(_ index: Int) -> Instant? {
            words[index] == Self.none ? nil : Instant(nanoseconds: words[index])
        }
        if words[0] & 1 != 0 {
            guard (0...Int64(ProcessMachine.Pulse.nonceLimit)).contains(words[6]) else { return nil }
            machine = ProcessMachine.Pulse(
                nonceState: UInt64(bitPattern: words[1]),
                unanswered: words[7..<(7 + Int(words[6]))].map { UInt64(bitPattern: $0) },
                lastPingSent: instant(2),
                nextPing: instant(3),
                startedAt: instant(4),
                allowance: .nanoseconds(words[5])
            )
        }
        if let at = instant(15) {
            window = Window(at: at, processCPUTime: .nanoseconds(words[16]))
            if words[0] & 2 != 0 {
                window?.schedule = ThreadSchedule(
                    runTime: .nanoseconds(words[17]), runDelay: .nanoseconds(words[18]),
                    timeslices: UInt64(bitPattern: words[19]))
            }
        }
        pingsSent = Int(words[20])
        signsOfLife = Int(words[21])
        lastSignOfLife = instant(22)
        isApproximate = words[0] & 4 != 0
        thread = words[23] == Self.none ? nil : Int32(truncatingIfNeeded: words[23])
    }

    package var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            count = Self.byteCount
            write { index, word in
                bytes.storeBytes(of: word.littleEndian, toByteOffset: index * 8, as: Int64.self)
            }
        }
    }

    private func write(_ put: (Int, Int64) -> Void) {
        put(0, (machine == nil ? 0 : 1) | (window?.schedule == nil ? 0 : 2) | (isApproximate ? 4 : 0))
        if let machine {
            put(1, Int64(bitPattern: machine.nonceState))
            put(2, machine.lastPingSent?.nanoseconds ?? Self.none)
            put(3, machine.nextPing?.nanoseconds ?? Self.none)
            put(4, machine.startedAt?.nanoseconds ?? Self.none)
            put(5, machine.allowance.nanoseconds)
            put(6, Int64(machine.unanswered.count))
            for (index, nonce) in machine.unanswered.enumerated() { put(7 + index, Int64(bitPattern: nonce)) }
        }
        put(15, window?.at.nanoseconds ?? Self.none)
        put(16, window?.processCPUTime.nanoseconds ?? 0)
        if let schedule = window?.schedule {
            put(17, schedule.runTime.nanoseconds)
            put(18, schedule.runDelay.nanoseconds)
            put(19, Int64(bitPattern: schedule.timeslices))
        }
        put(20, Int64(pingsSent))
        put(21, Int64(signsOfLife))
        put(22, lastSignOfLife?.nanoseconds ?? Self.none)
        put(23, thread.map { Int64($0) } ?? Self.none)
    }
}

// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
import WatchdogVerdict

/// The goroutines of a Go program in the form of a report: without those of the runtime, and with equal ones together.
struct GoroutineStacks {
    /// The largest number of different goroutines in a report.
    static let shownLimit = 64
    /// A deeper stack is cut: its innermost frames show the wait.
    static let frameLimit = 64

    private struct Key: Hashable {
        let state: String
        let thread: Int32?
        let addresses: [UInt64]
    }

    private let goroutines: SnapshotGoroutines
    private let capturedAt: Instant

    /// Nil for a program that is not one of Go.
    init?(_ contents: SnapshotContents) {
        guard let goroutines = contents.goroutines else { return nil }
        self.goroutines = goroutines
        capturedAt = contents.process.capturedAt
    }

    /// The report's note about missing goroutines; nil if there is no problem.
    var note: String? {
        switch goroutines.reading {
        case .complete: return nil
        case .unknown:
            let version = goroutines.version.isEmpty ? "" : " (\(goroutines.version.singleLine(limit: 32)))"
            return "the process is a Go program\(version), and its goroutines were not found"
        case .cut: return "some goroutines are missing: reading them reached a limit"
        }
    }

    /// The goroutines; nil if they were not found.
    ///
    /// - Parameter stack: unwinds a goroutine that is on no thread.
    func captured(stack: (SnapshotGoroutines.Goroutine) -> [Frame]) -> CapturedGoroutines? {
        guard goroutines.reading != .unknown else { return nil }
        var shown: [CapturedGoroutine] = []
        var places: [Key: Int] = [:]
        for goroutine in goroutines.goroutines {
            let frames = goroutine.stack == nil ? [] : stack(goroutine)
            let state = CapturedGoroutine.state(Self.state(goroutine), frames)
            let id = Int(clamping: goroutine.id)
            guard id == 1 || !CapturedGoroutine.isRuntimes(state, frames) else { continue }
            let key = Key(state: state, thread: goroutine.thread, addresses: frames.map(\.address))
            let descriptors = goroutine.descriptor.map { [Int($0)] } ?? []
            if let place = places[key] {
                shown[place].others.append(id)
                shown[place].descriptors += descriptors
            } else if shown.count < Self.shownLimit {
                places[key] = shown.count
                shown.append(
                    CapturedGoroutine(
                        id: id, state: state, isActive: Self.isActive(goroutine.status),
                        waitNanoseconds: goroutine.waitingSince.flatMap(waited), thread: goroutine.thread.map(Int.init),
                        descriptors: descriptors, frames: frames))
            }
        }
        return CapturedGoroutines(
            version: goroutines.version.isEmpty ? nil : goroutines.version, count: goroutines.count,
            activeCount: goroutines.activeCount, isComplete: goroutines.reading == .complete, shown: shown)
    }

    private func waited(since start: UInt64) -> UInt64? {
        let end = UInt64(clamping: capturedAt.nanoseconds)
        return end > start ? end - start : nil
    }

    private static func isActive(_ status: SnapshotGoroutines.Status) -> Bool {
        [.runnable, .running, .systemCall, .copyingStack].contains(status)
    }

    /// Go's own words for a state.
    private static func state(_ goroutine: SnapshotGoroutines.Goroutine) -> String {
        switch goroutine.status {
        case .runnable: "runnable"
        case .running: "running"
        case .systemCall: "syscall"
        case .waiting: goroutine.reason.isEmpty ? "waiting" : goroutine.reason
        case .copyingStack: "copystack"
        case .preempted: "preempted"
        case .leaked: goroutine.reason.isEmpty ? "leaked" : "\(goroutine.reason) (leaked)"
        }
    }
}

extension Registers {
    /// The registers of a goroutine that is on no thread.
    init(_ goroutine: SnapshotGoroutines.Goroutine) {
        self.init(count: X86_64.registerCount)
        self[X86_64.Register.rip] = goroutine.programCounter
        self[X86_64.Register.rsp] = goroutine.stackPointer
        self[X86_64.Register.rbp] = goroutine.framePointer
    }
}

// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

/// A process of the app other than its main process, with its stacks.
public struct ProcessDetails: Codable, Equatable, Sendable {
    /// The process ID.
    public var pid: Int
    /// The ID of the parent process.
    public var parentPid: Int
    /// The name of the process (`comm`), which it can set.
    public var name: String
    /// The letter of its first thread's state, before it was stopped.
    public var state: String
    /// The arguments, with secrets redacted; empty if they were not read.
    public var commandLine: [String]
    /// The wait of its first thread, the wait of the holder, and so on; nil if unknown.
    public var waits: [WaitDetails]?
    /// The method of the capture; nil without stacks.
    public var capture: CaptureDetails?
    /// The reason why there are no stacks; nil if there are.
    public var failure: String?
    /// All threads, the first one first.
    public var threads: [ThreadInfo]
    /// The kernel's facts about each thread, in the order of ``threads``.
    public var threadDetails: [ThreadDetails]
    /// The images that frames refer to.
    public var usedImages: [ImageInfo]
    /// The full build IDs, in the order of ``usedImages``.
    public var buildIDs: [String?]

    /// All stacks in the order of ``threads``.
    public var stacks: [ReportStack] {
        let images = ImageOrigins(usedImages, executable: nil)
        return threads.indices.map { index in
            ReportStack(
                index, threads[index], threadDetails.indices.contains(index) ? threadDetails[index] : nil,
                images: images, isFaulting: false)
        }
    }
}

extension ProcessDetails {
    /// The processes in the form of a report, within ``ReportLimits``.
    static func all(_ processes: [OtherProcess]) -> [ProcessDetails] {
        var bytesLeft = ReportLimits.otherFrameBytes
        return processes.prefix(ReportLimits.processes).map { ProcessDetails($0, &bytesLeft) }
    }

    private init(_ process: OtherProcess, _ bytesLeft: inout Int) {
        let stacks = process.capture.map { StackInfo(of: $0, first: process.pid, frameBytes: bytesLeft) }
        bytesLeft = stacks?.bytesLeft ?? bytesLeft
        var capture = process.capture.map { CaptureDetails($0) }
        let notes = (capture?.notes ?? []) + (stacks?.notes ?? [])
        capture?.notes = Array(notes.prefix(64))
        self.init(
            pid: process.pid,
            parentPid: process.parentPID,
            name: process.name.singleLine(limit: 64),
            state: String(process.state).singleLine(limit: 8),
            commandLine: Redaction.arguments(Array(process.arguments.prefix(ReportLimits.strings)))
                .map { $0.singleLine(limit: ReportLimits.lineLength) },
            waits: process.waits.isEmpty ? nil : process.waits,
            capture: capture,
            failure: process.failure?.singleLine(limit: ReportLimits.lineLength),
            threads: stacks?.threads ?? [],
            threadDetails: stacks?.details ?? [],
            usedImages: stacks?.images ?? [],
            buildIDs: stacks?.buildIDs ?? []
        )
    }
}

/// The kernel's facts about a thread, and the reliability of its stack.
public struct ThreadDetails: Codable, Equatable, Sendable {
    /// The kernel's thread ID.
    public var id: Int
    /// The letter of the thread's state.
    public var state: String
    /// The kernel function in which the thread slept.
    public var waitChannel: String?
    /// The system call of the thread, verbatim from the kernel.
    public var syscall: String?
    /// The kernel stack, innermost frame first.
    public var kernelStack: [String]
    /// The time on a CPU since the thread started.
    public var runNanoseconds: UInt64
    /// The time runnable without a CPU since the thread started.
    public var runDelayNanoseconds: UInt64
    /// The number of times that the thread blocked.
    public var voluntarySwitches: UInt64
    /// The number of times that the thread was preempted.
    public var involuntarySwitches: UInt64
    /// The method that found each frame, in the order of ``ThreadInfo/frames``.
    public var trust: [Frame.Trust]
    /// Swift's asynchronous callers, nearest first; they are not part of the machine stack.
    public var asynchronousFrames: [FrameInfo]
}

/// The method and the result of a capture.
public struct CaptureDetails: Codable, Equatable, Sendable {
    /// The method used.
    public var method: CapturedProcess.Method
    /// The reason why no better method was possible.
    public var methodReason: String?
    /// The time for which the process was stopped.
    public var frozenNanoseconds: UInt64
    /// Notes about missing data, with reasons.
    public var notes: [String]
}

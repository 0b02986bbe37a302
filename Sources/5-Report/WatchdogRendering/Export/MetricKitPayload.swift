// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// A report in the form of MetricKit's diagnostics, for collectors that accept them.
///
/// Always contains a crash diagnostic, and also a hang diagnostic if the report says how long the main thread did not
/// answer. The roots of the call stack tree are the innermost calls, and sub-frames are their callers, as in the trees
/// of real crashes.
public struct MetricKitPayload: Encodable, Equatable, Sendable {
    /// Decoders give up at 512 nesting levels, and each frame takes two.
    private static let depth = 200

    private let timeStampBegin: String
    private let timeStampEnd: String
    private let crashDiagnostics: [Diagnostic]
    private let hangDiagnostics: [Diagnostic]?

    private struct Diagnostic: Encodable, Equatable, Sendable {
        var version = "1.0.0"
        let callStackTree: Tree
        let diagnosticMetaData: MetaData
    }

    private struct Tree: Encodable, Equatable, Sendable {
        var callStackPerThread = true
        let callStacks: [Stack]
    }

    private struct Stack: Encodable, Equatable, Sendable {
        let threadAttributed: Bool
        let callStackRootFrames: [Node]
    }

    private struct Node: Encodable, Equatable, Sendable {
        let binaryUUID: String
        let binaryName: String?
        let address: UInt64
        let offsetIntoBinaryTextSegment: UInt64
        var sampleCount = 1
        let subFrames: [Node]?
    }

    private struct MetaData: Encodable, Equatable, Sendable {
        let appBuildVersion: String
        let appVersion: String
        var regionFormat = "unknown"
        let osVersion: String
        let deviceType: String
        let platformArchitecture: String
        let bundleIdentifier: String
        let pid: Int
        var exceptionType: Int?
        var exceptionCode: UInt64?
        var signal: Int?
        var terminationReason: String?
        var virtualMemoryRegionInfo: String?
        var hangDuration: String?

        init(_ report: Report) {
            let body = report.body
            let bundle = body.bundleInfo
            appBuildVersion = bundle?.version ?? report.metadata.buildVersion ?? ""
            appVersion = bundle?.shortVersion ?? report.metadata.appVersion ?? ""
            osVersion = body.osVersion.map { "\($0.train) (\($0.build))" } ?? report.metadata.osVersion ?? ""
            deviceType = body.modelCode ?? ""
            platformArchitecture = body.cpuType?.lowercased().replacing("x86-64", with: "x86_64") ?? ""
            bundleIdentifier = bundle?.identifier ?? report.metadata.bundleID ?? report.metadata.appName
            pid = body.pid
        }
    }

    /// The numbers in `mach/exception_types.h`.
    private static let exceptions = [
        "EXC_BAD_ACCESS": 1, "EXC_BAD_INSTRUCTION": 2, "EXC_ARITHMETIC": 3, "EXC_EMULATION": 4, "EXC_SOFTWARE": 5,
        "EXC_BREAKPOINT": 6, "EXC_CRASH": 10, "EXC_RESOURCE": 11, "EXC_GUARD": 12, "EXC_CORPSE_NOTIFY": 13,
    ]

    private static let signals = [
        "SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGFPE": 8, "SIGKILL": 9,
        "SIGSEGV": 11, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15,
    ]

    /// Creates the payload of one report.
    public init(_ report: Report) {
        let body = report.body
        let time = WallTime(body.captureTime) ?? WallTime(report.metadata.timestamp)
        timeStampEnd = time?.text(fractionDigits: 0) ?? body.captureTime
        timeStampBegin = body.procLaunch.flatMap(WallTime.init)?.text(fractionDigits: 0) ?? timeStampEnd
        let tree = Self.tree(body)
        var crash = MetaData(report)
        crash.exceptionType = Self.exceptions[body.exception.type]
        crash.exceptionCode = body.exception.rawCodes?.first
        crash.signal = body.exception.signal.flatMap { Self.signals[$0] }
        crash.terminationReason = body.termination.map { termination in
            (["\(termination.namespace) \(termination.code)"] + (termination.reasons ?? [])).joined(separator: "\n")
        }
        crash.virtualMemoryRegionInfo = body.vmRegionInfo
        crashDiagnostics = [Diagnostic(callStackTree: tree, diagnosticMetaData: crash)]
        hangDiagnostics = body.linux.flatMap { linux in
            guard linux.crash == nil else { return nil }
            var hang = MetaData(report)
            let elapsed = Duration.nanoseconds(linux.allowance.elapsedNanoseconds)
            hang.hangDuration = "\(elapsed.seconds(fractionDigits: 1)) sec"
            return [Diagnostic(callStackTree: tree, diagnosticMetaData: hang)]
        }
    }

    /// The payload's JSON.
    public var json: String { JSONText.of(self) }

    private static func tree(_ body: ReportBody) -> Tree {
        let stacks = body.threads.enumerated().map { index, thread in
            // Inlined calls do not have their own addresses, and interpreted ones share that of the interpreter.
            let machine = thread.frames.enumerated().filter { index, frame in
                let isRepeated =
                    frame.language == Frame.Language.python.rawValue && index > 0
                    && thread.frames[index - 1].isSamePlace(as: frame)
                return frame.inline != true && !isRepeated
            }
            let frames = machine.prefix(depth).map(\.element)
            let root = frames.reversed().reduce(nil as Node?) { caller, frame in
                let image =
                    body.usedImages.indices.contains(frame.imageIndex)
                    ? body.usedImages[frame.imageIndex] : .absent
                return Node(
                    binaryUUID: image.uuid.uppercased(), binaryName: image.name,
                    address: image.base &+ frame.imageOffset, offsetIntoBinaryTextSegment: frame.imageOffset,
                    subFrames: caller.map { [$0] })
            }
            return Stack(
                threadAttributed: index == body.faultingThread, callStackRootFrames: root.map { [$0] } ?? [])
        }
        return Tree(callStacks: stacks)
    }
}

extension FrameInfo {
    /// Whether both are interpreted by the same call of the interpreter's evaluator, as far as their addresses tell.
    fileprivate func isSamePlace(as other: FrameInfo) -> Bool {
        language == other.language && imageIndex == other.imageIndex && imageOffset == other.imageOffset
    }
}

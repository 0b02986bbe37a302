// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// What makes two incidents count as the same fault: app, event, cause, and where the app's own code was.
///
/// Process IDs, addresses, thread IDs, and everything between the app's calls are ignored, so that the signature is the
/// same after a restart, on another machine, and with another libc. A function without a name is identified by its
/// offset, which changes with each build.
public struct Signature: Hashable, Sendable, Codable {
    /// How many of the app's innermost calls count.
    public static let frameCount = 3

    /// The name of the app.
    public let app: String
    /// What the app was watched for.
    public let event: String
    /// The verdict in a few words, or the exception of a foreign report.
    public let cause: String
    /// The app's innermost calls; recursive calls count once.
    public let frames: [String]

    /// Computes a report's signature.
    public init(of report: Report) {
        app = report.metadata.appName
        event = report.event
        if let verdict = report.body.linux?.verdict {
            // The other kinds name the tracer, or where a partly running thread happened to be.
            cause =
                switch verdict.kind {
                case .blocked, .uninterruptible, .failed:
                    Deadlock(report)?.cause ?? BlockingCause(of: report, brief: verdict.brief).words
                case .crashed, .killed: report.body.linux?.crash?.signalName ?? verdict.kind.rawValue
                default: verdict.kind.rawValue
                }
        } else {
            let exception = report.body.exception
            cause = exception.signal.map { "\(exception.type) (\($0))" } ?? exception.type
        }
        var frames: [String] = []
        var calls = report.decidingStack?.decisive ?? []
        // Where a loop without a name was at that moment differs from hang to hang; its callers do not.
        if calls.count > 1, let first = calls.first, first.number == 0, first.function == nil { calls.removeFirst() }
        for name in calls.map(\.name) where frames.last != name {
            frames.append(name)
            if frames.count == Self.frameCount { break }
        }
        self.frames = frames
    }

    /// Eight hexadecimal digits that identify the signature.
    public var id: String {
        let text = ([app, event, cause] + frames).joined(separator: "\u{0}")
        let hash = FNV1a.hash(of: text)
        return String((hash ^ hash >> 32).hexadecimal(width: 16).suffix(8))
    }

    /// `waitForDownload() < readContents() < openDocument()`.
    public var path: String { frames.isEmpty ? "no frame of the app" : frames.joined(separator: " < ") }
}

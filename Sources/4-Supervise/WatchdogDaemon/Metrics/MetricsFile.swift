// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogBase
import WatchdogLaunch
package import WatchdogLinux

/// Writes the metrics into a file every few seconds, for the textfile collector of node_exporter.
///
/// Isolation: the loop's thread. The file is written beside it, because a disk may not answer.
package final class MetricsFile {
    /// As often as Prometheus usually reads.
    package static let interval = Duration.seconds(15)

    private unowned let source: any MetricsSource
    private let path: String
    private let queue = DispatchQueue(label: "org.watchdogd.metrics-file", qos: .utility)
    private var timer: Timer?
    private var isWriting = false
    private var note = ProblemNote(what: "metrics")

    /// Writes the file for the first time soon.
    package init(_ path: String, of source: any MetricsSource) throws(LinuxError) {
        self.path = path
        self.source = source
        timer = try source.host.loop.timer(priority: .last) { [unowned self] _ in writeAgain() }
        timer?.arm(at: source.host.loop.now)
    }

    private func writeAgain() {
        timer?.arm(at: source.host.loop.now + Self.interval)
        guard !isWriting else { return tell("the disk of \(path) does not answer") }
        isWriting = true
        source.metrics.collect { [weak self] metrics in self?.write(metrics.text) }
    }

    private func write(_ text: [UInt8]) {
        source.disks.read(on: queue) { [path] in
            Result { () throws(LinuxError) in try Self.write(text, to: path) }
        } then: { [weak self] (result: Result<Void, LinuxError>) in
            self?.isWriting = false
            switch result {
            case .success: self?.tell(nil)
            case .failure(let error): self?.tell("\(error)")
            }
        }
    }

    /// The exporter is another user, and may read it.
    private static func write(_ text: [UInt8], to path: String) throws(LinuxError) {
        try AtomicFile.write(text, to: path, mode: 0o644)
    }

    private func tell(_ problem: String?) {
        if let sentence = note.sentence(for: problem, path) { source.say(sentence) }
    }

    /// Reports a problem once, and its end.
    package struct ProblemNote {
        /// What is written, in the plural.
        let what: String
        private var problem: String?

        package init(what: String) { self.what = what }

        /// The message; nil for nothing new.
        ///
        /// - Parameter problem: why the file was not written; nil if it was.
        package mutating func sentence(for problem: String?, _ path: String) -> String? {
            guard problem != self.problem else { return nil }
            self.problem = problem
            return problem.map { "cannot write \(what): \($0)" } ?? "\(what) are written again: \(path)"
        }
    }
}

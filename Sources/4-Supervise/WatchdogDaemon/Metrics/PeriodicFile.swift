// SPDX-License-Identifier: Apache-2.0

package import Dispatch
import WatchdogBase
import WatchdogLaunch
package import WatchdogLinux

/// A file that is written every few seconds, with what the loop knows by then: the metrics for the textfile collector of
/// node_exporter, or the counts of a run.
///
/// Isolation: the loop's thread. The file is written beside it, one write after the other, because a disk may not answer.
package final class PeriodicFile {
    /// Makes the bytes beside the loop; nil leaves the file as it is.
    package typealias Contents = @Sendable () -> [UInt8]?

    /// As often as Prometheus usually reads.
    private static let interval = Duration.seconds(15)

    private unowned let source: any MetricsSource
    private let path: String
    private let mode: UInt32?
    private let collect: (_ write: @escaping (@escaping Contents) -> Void) -> Void
    private let queue = DispatchQueue(label: "org.watchdogd.periodic-file", qos: .utility)
    private var timer: Timer?
    private var isWriting = false
    private var note: ProblemNote

    /// Writes the file for the first time soon.
    ///
    /// - Parameters:
    ///   - what: what is written, in the plural.
    ///   - mode: as for ``AtomicFile/write(_:to:mode:)``.
    ///   - collect: passes on what is written, now or later.
    package init(
        _ path: String, of source: any MetricsSource, _ what: String, mode: UInt32? = nil,
        collect: @escaping (_ write: @escaping (@escaping Contents) -> Void) -> Void
    ) throws(LinuxError) {
        self.path = path
        self.source = source
        self.mode = mode
        self.collect = collect
        note = ProblemNote(what: what)
        timer = try source.host.loop.timer(priority: .last) { [unowned self] _ in writeAgain() }
        timer?.arm(at: source.host.loop.now)
    }

    private func writeAgain() {
        timer?.arm(at: source.host.loop.now + Self.interval)
        guard !isWriting else { return tell("the disk of \(path) does not answer") }
        isWriting = true
        collect { [weak self] in self?.write($0) }
    }

    private func write(_ contents: @escaping Contents) {
        source.disks.read(on: queue) { [path, mode] in
            Result { () throws(LinuxError) in try Self.write(contents, to: path, mode) }
        } then: { [weak self] (result: Result<Void, LinuxError>) in
            self?.isWriting = false
            switch result {
            case .success: self?.tell(nil)
            case .failure(let error): self?.tell("\(error)")
            }
        }
    }

    private static func write(_ contents: Contents, to path: String, _ mode: UInt32?) throws(LinuxError) {
        if let bytes = contents() { try AtomicFile.write(bytes, to: path, mode: mode) }
    }

    /// Writes the file for the last time; called when the loop has ended.
    package func finish(within patience: DispatchTimeInterval) {
        collect { [path, mode, queue, what = note.what] contents in
            let isDone = DispatchSemaphore(value: 0)
            queue.async {
                do throws(LinuxError) {
                    try Self.write(contents, to: path, mode)
                } catch {
                    StandardError.mention("cannot write \(what): \(error)")
                }
                isDone.signal()
            }
            if isDone.wait(timeout: .now() + patience) == .timedOut {
                StandardError.mention("cannot write \(what): the disk of \(path) does not answer")
            }
        }
    }

    private func tell(_ problem: String?) {
        if let sentence = note.sentence(for: problem, path) { source.say(sentence) }
    }

    /// Reports a problem once, and its end.
    struct ProblemNote {
        /// What is written, in the plural.
        let what: String
        private var problem: String?

        init(what: String) { self.what = what }

        /// The message; nil for nothing new.
        ///
        /// - Parameter problem: why the file was not written; nil if it was.
        mutating func sentence(for problem: String?, _ path: String) -> String? {
            guard problem != self.problem else { return nil }
            self.problem = problem
            return problem.map { "cannot write \(what): \($0)" } ?? "\(what) are written again: \(path)"
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import CTesting
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// Repeatedly checks that the main queue runs, and samples this process if it stalls.
///
/// Isolation: any thread.
final class MainLoopMonitor: Sendable {
    /// A period in which the main queue did not run.
    struct Stall: Sendable {
        let duration: Duration
        /// The output of `watchdogd sample`, or nil.
        let sample: String?
        /// The stack of the thread that served the main queue, or the reason why it is missing.
        let stack: String
    }

    /// A stall whose stack is still being sampled.
    private struct Open {
        let duration: Duration
        let thread: Int32
    }

    private struct State {
        var asked: ContinuousClock.Instant?
        /// The CPU waits of the threads when the check was queued.
        var delays: [String: Int64] = [:]
        var isSampled = false
        var sample: Result<String, any Error>?
        var open: Open?
        var stalls: [Stall] = []
        var finished: CheckedContinuation<Void, Never>?
    }

    private let limit: Duration
    private let state = Mutex(State())
    private let ending = DispatchSemaphore(value: 0)

    /// - Throws: ``TestSetupError`` if no thread can be created.
    init(limit: Duration) throws {
        self.limit = limit
        // Tests may block all threads of Dispatch's pool, so use a dedicated thread.
        let watch = Unmanaged.passRetained(Watch(self, ending, every: max(.milliseconds(1), limit / 10)))
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { watch in
                if let watch { Unmanaged<Watch>.fromOpaque(watch).takeRetainedValue().run() }
                return nil
            }, watch.toOpaque())
        guard error == 0 else {
            watch.release()
            throw TestSetupError("cannot start a thread to watch the main loop: \(String(cString: strerror(error)))")
        }
        pthread_detach(thread)
    }

    deinit { ending.signal() }

    /// Ends the watch, and returns the stalls; waits until the main queue runs again.
    ///
    /// Call it once.
    func finish() async -> [Stall] {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            state.withLock { $0.finished = continuation }
            ending.signal()
        }
        return state.withLock { $0.stalls }
    }

    /// The state of the checking thread.
    private final class Watch {
        private weak var monitor: MainLoopMonitor?
        private let ending: DispatchSemaphore
        private let interval: Duration

        init(_ monitor: MainLoopMonitor, _ ending: DispatchSemaphore, every interval: Duration) {
            self.monitor = monitor
            self.ending = ending
            self.interval = interval
        }

        func run() {
            let nanoseconds = Int(interval / .nanoseconds(1))
            repeat { monitor?.look() } while ending.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .timedOut
            monitor?.resume()
        }
    }

    private func resume() {
        guard let finished = state.withLock({ $0.finished.take() }) else { return }
        DispatchQueue.main.async { finished.resume() }
    }

    private func look() {
        let now = ContinuousClock.now
        let isStalled: Bool = state.withLock { state in
            guard let asked = state.asked else {
                (state.asked, state.delays, state.isSampled, state.sample) = (now, Self.runDelays(), false, nil)
                DispatchQueue.main.async { self.turned() }
                return false
            }
            // The thread that serves the queue, and its wait for a CPU, are known only after the queue has run.
            guard now - asked > limit, !state.isSampled else { return false }
            state.isSampled = true
            return true
        }
        guard isStalled else { return }
        let sample = Result { try SelfSample.take() }
        state.withLock { state in
            state.sample = sample
            // The queue has run in the meantime.
            guard let open = state.open else { return }
            state.stalls.append(Stall(open.duration, open.thread, sample, endedBefore: true))
            (state.open, state.asked) = (nil, nil)
        }
    }

    private func turned() {
        let (now, delays) = (ContinuousClock.now, Self.runDelays())
        // Dispatch serves the queue with any thread once dispatch_main(3) has ended the first one; the current thread
        // has just finished the stalling work.
        let thread = wd_testing_thread()
        state.withLock { state in
            guard let asked = state.asked else { return }
            let delay = (delays["\(thread)"] ?? 0) - (state.delays["\(thread)"] ?? 0)
            let duration = now - asked - .nanoseconds(delay)
            guard duration > limit else {
                state.asked = nil
                return
            }
            if state.isSampled, state.sample == nil {
                state.open = Open(duration: duration, thread: thread)
            } else {
                state.stalls.append(Stall(duration, thread, state.sample))
                state.asked = nil
            }
        }
    }

    /// Whether the current stall was sampled.
    var hasSample: Bool { state.withLock { $0.sample != nil } }

    /// The time that each thread of this process has waited for a CPU, in nanoseconds: the second field of schedstat,
    /// see the kernel's sched-stats.
    private static func runDelays() -> [String: Int64] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return Dictionary(
            uniqueKeysWithValues: threads.map { thread in
                let text = (try? String(contentsOfFile: "/proc/self/task/\(thread)/schedstat", encoding: .utf8)) ?? ""
                let fields = text.split(whereSeparator: \.isWhitespace)
                return (thread, fields.count > 1 ? Int64(fields[1]) ?? 0 : 0)
            })
    }
}

extension MainLoopMonitor.Stall {
    /// - Parameter endedBefore: whether the stall was over before the sample was complete.
    fileprivate init(
        _ duration: Duration, _ thread: Int32, _ result: Result<String, any Error>?, endedBefore: Bool = false
    ) {
        self.duration = duration
        switch result {
        case .success(let text):
            let remark = "; it was over before its stack was complete, which may be that of what came next:"
            (sample, stack) = (text, (endedBefore ? remark : "") + SelfSample.stack(of: thread, in: text))
        case .failure(let error): (sample, stack) = (nil, "; no stack: \(error)")
        case nil: (sample, stack) = (nil, "")
        }
    }
}

/// Samples this process with watchdogd.
enum SelfSample {
    private static let heading = "Call tree, "
    /// The time limit in milliseconds.
    private static let patience: Int32 = 30_000

    static func take() throws -> String {
        let watchdogd = try Installation.watchdogd()
        let scratch = try ScratchDirectory()
        // If Yama permits tracing to ancestors only, a child needs explicit permission: prctl(2).
        wd_testing_allow_tracing(1)
        defer { wd_testing_allow_tracing(0) }
        let pid = try SupervisorProcess.spawn(
            watchdogd, ["sample", "--for", "50ms", "\(getpid())"], output: scratch["output"],
            errors: scratch["errors"])
        let status = wd_testing_reap(pid, patience)
        let text = scratch.text("output")
        guard text.contains(heading) else {
            let errors = scratch.text("errors")
            // wait(2): the low seven bits are the signal.
            let isKilled = status & 0x7f == SIGKILL
            let end = isKilled ? "took longer than \(patience / 1_000) s" : "ended with the wait status \(status)"
            throw TestSetupError(errors.isEmpty ? "watchdogd sample \(end)" : errors)
        }
        return text
    }

    /// A thread's stack in the text of a sample, each call on a line of its own, outermost first.
    static func stack(of thread: Int32, in text: String) -> String {
        let paragraphs = text.split(separator: "\n\n").map { $0.split(separator: "\n") }
        let own = paragraphs.first { lines in
            // `6 each of Threads 7 "main", 9 "worker 5"`: the number of samples, then each thread ID with its name.
            guard let title = lines.first, let word = title.firstRange(of: "Thread") else { return false }
            let unquoted = title[word.upperBound...].split(separator: "\"", omittingEmptySubsequences: false)
                .enumerated()
                .filter { $0.offset.isMultiple(of: 2) }
            return unquoted.contains { $0.element.split { !$0.isNumber }.contains { $0 == "\(thread)" } }
        }
        // The first two lines are the names of the threads and their use of the time.
        return (own ?? []).dropFirst(2).map { "\n  " + $0.drop { " 0123456789".contains($0) } }.joined()
    }
}

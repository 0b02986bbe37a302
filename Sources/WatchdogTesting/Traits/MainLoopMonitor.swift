// SPDX-License-Identifier: Apache-2.0

internal import CTesting
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// Asks the main queue again and again whether it turns, and samples this process when it does not.
///
/// Isolation: any thread.
final class MainLoopMonitor: Sendable {
    /// A time in which the main queue did not turn.
    struct Stall: Sendable {
        let duration: Duration
        /// The output of `watchdogd sample`, or nil.
        let sample: String?
        /// The stack of the thread that served the main queue, or why there is none.
        let stack: String
    }

    /// A stall of which the stack is still being taken.
    private struct Open {
        let duration: Duration
        let thread: Int32
    }

    private struct State {
        var asked: ContinuousClock.Instant?
        /// When it was asked.
        var delays: [String: Int64] = [:]
        var isSampled = false
        var sample: Result<String, any Error>?
        var open: Open?
        var stalls: [Stall] = []
    }

    private let limit: Duration
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "org.watchdogd.testing.stalls", qos: .userInteractive)
    // SAFETY: Dispatch's objects may be used from any thread, only their Swift protocols do not say so.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    init(limit: Duration) {
        self.limit = limit
        timer = DispatchSource.makeTimerSource(queue: queue)
        let nanoseconds = max(1_000_000, Int(limit / .nanoseconds(10)))
        timer.schedule(deadline: .now(), repeating: .nanoseconds(nanoseconds))
        timer.setEventHandler { [weak self] in self?.look() }
        timer.activate()
    }

    /// Ends the watch, and returns the stalls; waits until the main queue turns.
    func finish() async -> [Stall] {
        timer.cancel()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            queue.async { DispatchQueue.main.async { continuation.resume() } }
        }
        return state.withLock { $0.stalls }
    }

    private func look() {
        let now = ContinuousClock.now
        let isStalled: Bool = state.withLock { state in
            guard let asked = state.asked else {
                (state.asked, state.delays, state.isSampled, state.sample) = (now, Self.runDelays(), false, nil)
                DispatchQueue.main.async { self.turned() }
                return false
            }
            // Which thread serves the queue, and whether it has a CPU, is known only when it has turned.
            guard now - asked > limit, !state.isSampled else { return false }
            state.isSampled = true
            return true
        }
        guard isStalled else { return }
        let sample = Result { try SelfSample.take() }
        state.withLock { state in
            state.sample = sample
            // The queue has turned in the meantime.
            guard let open = state.open else { return }
            state.stalls.append(Stall(open.duration, open.thread, sample))
            (state.open, state.asked) = (nil, nil)
        }
    }

    private func turned() {
        let (now, delays) = (ContinuousClock.now, Self.runDelays())
        // Dispatch serves the queue with any thread once dispatch_main(3) has ended the first one; this one has just
        // finished what stalled it.
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

    /// How long each thread of this process has waited for a CPU, in nanoseconds: the second field of schedstat, see
    /// the kernel's sched-stats.
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
    init(_ duration: Duration, _ thread: Int32, _ result: Result<String, any Error>?) {
        self.duration = duration
        switch result {
        case .success(let text): (sample, stack) = (text, SelfSample.stack(of: thread, in: text))
        case .failure(let error): (sample, stack) = (nil, "; no stack: \(error)")
        case nil: (sample, stack) = (nil, "")
        }
    }
}

/// This process, sampled by watchdogd.
enum SelfSample {
    private static let heading = "Call tree, "

    static func take() throws -> String {
        let watchdogd = try Installation.watchdogd()
        let scratch = try ScratchDirectory()
        // Where only ancestors may trace, a child needs leave: prctl(2), Yama.
        wd_testing_allow_tracing(1)
        defer { wd_testing_allow_tracing(0) }
        let pid = try SupervisorProcess.spawn(
            watchdogd, ["sample", "--for", "50ms", "\(getpid())"], output: scratch["output"],
            errors: scratch["errors"])
        wd_testing_reap(pid, 10_000)
        let text = scratch.text("output")
        guard text.contains(heading) else { throw TestSetupError(scratch.text("errors")) }
        return text
    }

    /// A thread's stack in the text of a sample, each call on a line of its own, outermost first.
    static func stack(of thread: Int32, in text: String) -> String {
        let paragraphs = text.split(separator: "\n\n").map { $0.split(separator: "\n") }
        let own = paragraphs.first { lines in
            let words = lines.first?.split { !$0.isNumber } ?? []
            return lines.first?.contains("Thread") == true && words.contains { $0 == "\(thread)" }
        }
        // The first two lines say which threads these are and how they spent the time.
        return (own ?? []).dropFirst(2).map { "\n  " + $0.drop { " 0123456789".contains($0) } }.joined()
    }
}

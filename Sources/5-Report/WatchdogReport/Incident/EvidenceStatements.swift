// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogVerdict

extension EvidenceStatement {
    fileprivate static let window = "window"
    fileprivate static let runTime = "main thread's time on a CPU in the window"
    fileprivate static let call = "main thread's system call"
    fileprivate static let state = "main thread's state"
    fileprivate static let waitChannel = "main thread's wait channel"
    fileprivate static let runDelay = "main thread's time waiting for a CPU in the window"
}

extension LinuxDetails {
    /// The main thread's times in the window, from the statements of ``evidence``.
    package struct MainThreadTimes {
        package let running: Duration
        package let sleeping: Duration
    }

    /// The name of the system call on which the verdict rests; nil if unknown.
    package var mainThreadCall: String? {
        value(of: EvidenceStatement.call).map { String($0.prefix { $0 != ":" }) }
    }

    /// Whether the main thread waited for the lock of the process's memory map.
    package var isWaitingForMemoryMap: Bool {
        MemoryMapWait.isOne(state: value(of: EvidenceStatement.state)?.first, waitChannel: mainThreadWaitChannel)
    }

    /// Whether the main thread waited for the thaw of a file system.
    package var isOnFrozenFileSystem: Bool {
        FrozenFileSystem.isAwaited(
            state: value(of: EvidenceStatement.state)?.first, waitChannel: mainThreadWaitChannel, call: mainThreadCall)
    }

    private var mainThreadWaitChannel: String? { value(of: EvidenceStatement.waitChannel) }

    private func value(of what: String) -> String? { evidence.first { $0.what == what }?.value }

    /// The main thread's times; nil if the window or one of the counters is unknown.
    package var mainThreadTimes: MainThreadTimes? {
        func time(_ what: String) -> Duration? {
            guard let value = value(of: what), value.hasSuffix(" s"),
                let seconds = Double(value.dropLast(2)), seconds >= 0, seconds < 1e9
            else { return nil }
            return .microseconds(Int64((seconds * 1_000_000).rounded()))
        }
        guard let window = time(EvidenceStatement.window), let running = time(EvidenceStatement.runTime),
            let waiting = time(EvidenceStatement.runDelay)
        else { return nil }
        return MainThreadTimes(running: running, sleeping: max(.zero, window - running - waiting))
    }
}

extension HangEvidence {
    /// The evidence as separate statements, each with its source.
    ///
    /// - Parameters:
    ///   - pid: the process ID.
    ///   - thread: the thread that runs the main loop; nil for the first thread, whose ID is the process ID.
    public func statements(pid: Int, thread: Int? = nil) -> [EvidenceStatement] {
        let task = "/proc/\(pid)/task/\(thread ?? pid)"
        var statements: [EvidenceStatement] = []
        func note(_ what: String, _ value: String?, _ source: String) {
            guard let value else { return }
            statements.append(EvidenceStatement(what: what, value: value, source: source))
        }
        note(EvidenceStatement.window, window.map(Self.text), "CLOCK_MONOTONIC")
        note(EvidenceStatement.runTime, runTime.map(Self.text), "\(task)/schedstat field 1")
        note(EvidenceStatement.runDelay, runDelay.map(Self.text), "\(task)/schedstat field 2")
        if stopped > .zero {
            note(
                "time for which watchdogd stopped the main thread to read its stack", Self.text(stopped),
                "CLOCK_MONOTONIC")
        }
        note(EvidenceStatement.state, state.map(String.init), "\(task)/stat field 3")
        note(EvidenceStatement.call, syscall.map(Self.callText), "\(task)/syscall")
        note(
            "subject of the system call", subject ?? WaitText(waits).whole,
            subject == nil ? Self.sources(waits) : "/proc")
        note(EvidenceStatement.waitChannel, waitChannel, "\(task)/wchan")
        note("tracer", tracer.map { $0 == 0 ? "none" : "pid \($0)" }, "/proc/\(pid)/status TracerPid")
        note("cgroup frozen", isFrozen.map { $0 ? "yes" : "no" }, "cgroup.events")
        note("CPUs online", String(processorCount), "sysconf(3) _SC_NPROCESSORS_ONLN")
        if let strain { statements += strain.statements(pid: pid, thread: thread ?? pid) }
        return statements
    }

    private static func sources(_ waits: [WaitDetails]) -> String {
        var sources: [String] = []
        for source in waits.flatMap(\.sources) where !sources.contains(source) { sources.append(source) }
        return sources.joined(separator: ", ")
    }

    private static func text(_ duration: Duration) -> String { "\(duration.seconds(fractionDigits: 6)) s" }

    private static func callText(_ text: String) -> String {
        guard let name = SystemCall.blocking(text)?.name else { return text }
        return "\(name): \(text)"
    }
}

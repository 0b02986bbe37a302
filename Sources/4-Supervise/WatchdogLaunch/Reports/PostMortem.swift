// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogCapture
package import WatchdogLinux
import WatchdogPolicy
package import WatchdogReport
package import WatchdogVerdict

/// Searches for what a crashed process left: its core file, or what systemd-coredump made of it.
///
/// Reads files and waits, so it must not run on the loop's thread.
package struct PostMortem: Sendable {
    /// The result of the search.
    package enum Finding {
        /// Stacks without symbols.
        case core(Snapshot)
        /// Stacks with the names that systemd-coredump found.
        case named(CapturedProcess)
        /// No stacks.
        case nothing
    }

    /// How long to wait for systemd-coredump's journal entry; compressing a core of several gigabytes takes that long.
    private static let journalPatience = Duration.seconds(5)
    /// The limit for all core files together, because each may contain anything.
    private static let readingTime = Duration.seconds(10)
    /// How long to wait when there may be no entry at all.
    private static let briefPatience = Duration.milliseconds(200)

    package var process: Int32
    /// The user that the process ran as.
    package var user: UInt32
    package var launchedAt: Instant
    /// Seconds since 1970.
    package var launched: Int64
    /// Directories that may hold the core file, likeliest first.
    var directories: [String]
    /// Whether the core file exists only because watchdogd enabled it, and is deleted once read.
    var removesCore = false
    /// Whether `CrashStacks=` is set.
    var isAsked = false
    /// The core-file limit that the process was launched with; nil if unknown.
    var coreLimit: UInt64?

    /// Searches for the stacks and completes the details of the crash.
    func examine(_ crash: inout CrashDetails, pattern: CorePattern = .current()) -> Finding {
        if let exitCode = crash.exitCode {
            crash.stacks = "none: it exited by itself, with code \(exitCode)"
            return .nothing
        }
        if let signal = crash.signal, !crash.isCoreDumped {
            crash.stacks = "none: \(absence(signal, pattern))"
            return .nothing
        }
        switch pattern {
        case .file(let name): return read(name, &crash)
        case .program(let program): return ask(program, &crash)
        case .nothing:
            crash.stacks = "none: the kernel keeps no cores (kernel.core_pattern)"
            return .nothing
        }
    }

    // MARK: - Core files

    private func read(_ name: CoreFileName, _ crash: inout CrashDetails) -> Finding {
        let search = CoreSearch(process: process, user: user, launched: launched, directories: directories)
        let deadline = Instant.now() + Self.readingTime
        var refusal: String?
        for candidate in search.candidates(name) {
            let path = candidate.path.singleLine(limit: 512)
            do throws(CoreError) {
                let core = try CoreContents(
                    reading: candidate.descriptor.number, of: process, until: deadline)
                crash.stackSource = .core
                crash.isCoreDumped = true
                crash.thread = Int(core.thread)
                if let signal = core.signal { crash.note(signal) }
                let isRemoved = removesCore && candidate.remove()
                crash.stacks =
                    isRemoved
                    ? "taken at the crash, as requested, from the core file \(path), which was then removed"
                    : "from the core file \(path)"
                return .core(core.snapshot)
            } catch {
                refusal = refusal ?? "the core file \(path) cannot be used: \(error)"
            }
        }
        let folders = search.folders(name).map { $0.singleLine(limit: 255) }.joined(separator: ", ")
        crash.stacks = "none: " + (refusal ?? "its core file was not found in \(folders)")
        return .nothing
    }

    // MARK: - systemd-coredump

    private func ask(_ program: String, _ crash: inout CrashDetails) -> Finding {
        let name = program.split(separator: "/").last.map(String.init) ?? program
        guard name == "systemd-coredump" else {
            crash.stacks = "none: the kernel gave the core to \(program.singleLine(limit: 255))"
            return .nothing
        }
        let patience = crash.isKnown ? Self.journalPatience : Self.briefPatience
        guard
            let entry = CoredumpEntry.find(process: process, user: user, since: launchedAt, within: patience)
        else {
            crash.stacks = "none: the journal has no systemd-coredump entry for pid \(process)"
            return .nothing
        }
        return read(entry, &crash)
    }

    /// Adds the contents of a journal entry.
    package func read(_ entry: CoredumpEntry, _ crash: inout CrashDetails) -> Finding {
        if !crash.isKnown, let signal = entry.signal {
            crash.note(signal: Int(signal))
        }
        let file = entry.file.map { " (core: \($0.singleLine(limit: 255)))" } ?? ""
        guard let stacks = CoredumpMessage.read(entry.message, process: Int(process)) else {
            crash.stacks = "none: systemd-coredump found no stacks; coredumpctl debug \(process) may\(file)"
            return .nothing
        }
        crash.stackSource = .journal
        crash.thread = stacks.thread
        crash.stacks = "from systemd-coredump's entry in the journal\(file)"
        return .named(stacks.capture)
    }

    /// Why there is no core, and how to get one.
    private func absence(_ signal: Int, _ pattern: CorePattern) -> String {
        let name = SignalName.of(signal)
        guard Crash.coreSignals.contains(Int32(clamping: signal)) else { return "\(name) leaves no core" }
        if case .nothing = pattern { return "the kernel keeps no cores (kernel.core_pattern)" }
        if coreLimit == 0 {
            return isAsked
                ? "its limit on core files (LimitCORE) is 0, and watchdogd may not raise it"
                : "its limit on core files is 0; CrashStacks=yes raises it (run: --crash-stacks)"
        }
        return "the kernel could not write a core (LimitCORE, rights in its folder, room on the disk)"
    }
}

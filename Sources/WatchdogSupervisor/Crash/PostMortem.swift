// SPDX-License-Identifier: Apache-2.0

import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// The search for what is left of a process that has crashed: its core file, or what systemd-coredump made of it.
///
/// Reads files and waits: not for the loop's thread.
struct PostMortem: Sendable {
    /// What was found.
    enum Finding {
        /// The stacks, not symbolicated yet.
        case core(Snapshot)
        /// The stacks with the names that somebody else found.
        case named(CapturedProcess)
        /// Nothing.
        case nothing
    }

    /// How long systemd-coredump may take for its entry; a core of some gigabytes is compressed in that time.
    private static let journalPatience = Duration.seconds(5)
    /// For all core files together, each of which may be anything.
    private static let readingTime = Duration.seconds(10)
    /// When it is not known whether there is an entry at all.
    private static let briefPatience = Duration.milliseconds(200)

    var process: Int32
    /// Whose rights it had.
    var user: UInt32
    var launchedAt: Instant
    /// Seconds since 1970.
    var launched: Int64
    /// Where it may have been, likeliest first.
    var directories: [String]
    /// Whether the core file is watchdogd's own doing, and goes when it is read.
    var removesCore = false
    /// Whether `CrashStacks=` is set.
    var isAsked = false
    /// The limit on core files with which it was launched; nil when that is not known.
    var coreLimit: UInt64?

    /// Looks for the stacks, and completes what is known of the crash.
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
            let path = candidate.path.printable(limit: 512)
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
                    ? "taken at the crash by option: from the core file \(path), which was removed then"
                    : "from the core file \(path)"
                return .core(core.snapshot)
            } catch {
                refusal = refusal ?? "the core file \(path) is of no use: \(error)"
            }
        }
        let folders = search.folders(name).map { $0.printable(limit: 255) }.joined(separator: ", ")
        crash.stacks = "none: " + (refusal ?? "its core file was not found in \(folders)")
        return .nothing
    }

    // MARK: - systemd-coredump

    private func ask(_ program: String, _ crash: inout CrashDetails) -> Finding {
        let name = program.split(separator: "/").last.map(String.init) ?? program
        guard name == "systemd-coredump" else {
            crash.stacks = "none: the kernel gave the core to \(program.printable(limit: 255))"
            return .nothing
        }
        let patience = crash.isKnown ? Self.journalPatience : Self.briefPatience
        guard
            let entry = CoredumpEntry.find(process: process, user: user, since: launchedAt, within: patience)
        else {
            crash.stacks = "none: the journal has no entry of systemd-coredump about pid \(process)"
            return .nothing
        }
        return read(entry, &crash)
    }

    /// Takes over what an entry tells.
    func read(_ entry: CoredumpEntry, _ crash: inout CrashDetails) -> Finding {
        if !crash.isKnown, let signal = entry.signal {
            crash.note(signal: Int(signal))
        }
        let file = entry.file.map { " (core: \($0.printable(limit: 255)))" } ?? ""
        guard let stacks = CoredumpMessage.read(entry.message, process: Int(process)) else {
            crash.stacks = "none: systemd-coredump found no stacks; coredumpctl debug \(process) may\(file)"
            return .nothing
        }
        crash.stackSource = .journal
        crash.thread = stacks.thread
        crash.stacks = "from systemd-coredump's entry in the journal\(file)"
        return .named(stacks.capture)
    }

    /// Why there is no core, and what to do to get one.
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

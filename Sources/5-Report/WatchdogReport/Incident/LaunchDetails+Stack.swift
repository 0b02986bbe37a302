// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

extension LaunchDetails {
    /// Completes the phase in which the launch ended with what the process's first thread did at that moment.
    ///
    /// The recorder's breakpoints show where a program that starts slowly is. One that starts faster than they are set has
    /// passed them, or has not, and only its stack tells.
    mutating func complete(with stack: ReportStack, _ verdict: Verdict) {
        guard let last = phases.indices.last, phases[last].isOpen else { return }
        let hasSpoken = phases.contains { ["hello", "first-frame"].contains($0.name) }
        if !hasSpoken, phases[last].name == "ready", let phase = Self.phase(of: stack.calls.map(\.function)) {
            phases[last].name = phase.rawValue
        }
        phases[last].ending = Self.ending(stack, verdict)
    }

    /// The phase before `main` that a stack shows; nil if the thread has reached `main`, or if unknown.
    ///
    /// - Parameter functions: The functions of the stack, innermost first.
    static func phase(of functions: [String?]) -> LaunchPhaseName? {
        var isInLinker = false
        for function in functions.reversed() {
            switch function {
            case "_start", "_start_c", "__libc_start_main", "__libc_start_main_impl": continue
            case "_dl_start_user", "_dl_start", "_dl_start_final", "_dl_sysdep_start", "dl_main": isInLinker = true
            case "_dl_init": return .libraryConstructors
            // glibc has two functions of this name: in the linker, and since 2.34 in libc.
            case "call_init": return isInLinker ? .libraryConstructors : .ownConstructors
            // Before 2.34, and musl.
            case "__libc_csu_init", "__libc_start_init", "libc_start_init": return .ownConstructors
            case "_dl_map_object", "_dl_map_object_deps", "_dl_map_object_from_fd": return .mapping
            case "_dl_relocate_object": return .relocation
            default: guard isInLinker else { return nil }
            }
        }
        return nil
    }

    /// The verdict's words without its shares, and the app's own function: `blocked 1.49 s in read (fd 4: pipe), called
    /// by load_config (own.c:5)`.
    private static func ending(_ stack: ReportStack, _ verdict: Verdict) -> String? {
        let thread = "Main thread "
        guard verdict.line.hasPrefix(thread) else { return nil }
        let line = verdict.line.dropFirst(thread.count)
        let words = String(line.firstRange(of: " · ").map { line[..<$0.lowerBound] } ?? line)
        guard let own = stack.named.first, own.origin == .application, own.function != nil, !words.contains(own.name)
        else { return words }
        return "\(words), called by \(own.place.singleLine(limit: 80))"
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogLinux

/// Re-execution of the running program, for example after an upgrade.
///
/// The process, its children and the kept descriptors survive.
package enum Reexecution {
    /// Holds the process id, so that no process mistakes an inherited mark for its own.
    package static let variable = "WATCHDOGD_REEXECUTED"
    /// Holds what the ``Closer`` hands over.
    private static let closerVariable = "WATCHDOGD_CLOSER"

    /// The path of the program at its start; read it before an upgrade replaces the file.
    package static let program = ProcessFacts.executable(getpid())

    /// Whether this process has re-executed itself; true at most once.
    static func takeMark() -> Bool {
        defer { unsetenv(variable) }
        return isMarked
    }

    /// What the program that this process executed before left for a ``Closer``; call it once, before ``takeMark()``.
    package static func takeCloser() -> CloserSource? {
        defer { unsetenv(closerVariable) }
        guard isMarked, let text = getenv(closerVariable) else { return nil }
        return CloserSource(handedOver: String(cString: text))
    }

    private static var isMarked: Bool { getenv(variable).map { String(cString: $0) } == "\(getpid())" }

    private static var path: String { program ?? "/proc/self/exe" }

    /// Why the program now at this process's path cannot be executed, as far as that is known without trying.
    package static var obstacle: LinuxError? {
        do throws(LinuxError) {
            let file = try OwnedDescriptor.regularFile(at: ByteString(path))
            var magic: UInt32 = 0
            let isProgram = read(file.number, &magic, 4) == 4 && UInt32(bigEndian: magic) == 0x7f45_4c46
            guard isProgram else { return LinuxError("execute \(path)", .notAProgram) }
            return access(path, X_OK) == 0 ? nil : LinuxError("execute \(path)", Errno(rawValue: errno))
        } catch {
            return LinuxError("execute \(path)", error.errno)
        }
    }

    /// Executes the program now at this process's path.
    ///
    /// - Parameters:
    ///   - descriptors: the ones that stay open. All others are closed.
    ///   - closer: what ``takeCloser()`` needs; its descriptors stay open as well.
    /// - Returns: only on failure, with everything as it was before.
    package static func execute(
        keeping descriptors: [Int32], _ closer: (text: String, descriptors: [Int32])?
    ) -> LinuxError {
        var changed: [Int32] = []
        for number in descriptors + (closer?.descriptors ?? []) where fcntl(number, F_SETFD, 0) == 0 {
            changed.append(number)
        }
        setenv(variable, "\(getpid())", 1)
        if let closer { setenv(closerVariable, closer.text, 1) }
        execv(path, CommandLine.unsafeArgv)
        let error = LinuxError("execute \(path)", Errno(rawValue: errno))
        unsetenv(variable)
        unsetenv(closerVariable)
        for number in changed { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        return error
    }
}

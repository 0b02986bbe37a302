// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// Re-execution of the running program, for example after an upgrade.
///
/// The process, its children and the kept descriptors survive.
enum Reexecution {
    /// Holds the process id, so that no process mistakes an inherited mark for its own.
    static let variable = "WATCHDOGD_REEXECUTED"

    /// The path of the program at its start; read it before an upgrade replaces the file.
    static let program = ProcessFacts.executable(getpid())

    /// Whether this process has re-executed itself; true at most once.
    static func takeMark() -> Bool {
        defer { unsetenv(variable) }
        return getenv(variable).map { String(cString: $0) } == "\(getpid())"
    }

    private static var path: String { program ?? "/proc/self/exe" }

    /// Why the program now at this process's path cannot be executed, as far as that is known without trying.
    static var obstacle: LinuxError? {
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
    /// - Parameter descriptors: the ones that stay open. All others are closed.
    /// - Returns: only on failure, with everything as it was before.
    static func execute(keeping descriptors: [Int32]) -> LinuxError {
        var changed: [Int32] = []
        for number in descriptors where fcntl(number, F_SETFD, 0) == 0 { changed.append(number) }
        setenv(variable, "\(getpid())", 1)
        execv(path, CommandLine.unsafeArgv)
        let error = LinuxError("execute \(path)", Errno(rawValue: errno))
        unsetenv(variable)
        for number in changed { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        return error
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// A process that executes its program anew, for example after an upgrade: the process, its children and the descriptors
/// that are kept stay what they are.
enum Reexecution {
    /// Holds the process id, so that nobody takes a mark for his own that he has inherited.
    static let variable = "WATCHDOGD_REEXECUTED"

    /// Where the program was when it was started; to be read before an upgrade replaces the file.
    static let program = ProcessFacts.executable(getpid())

    /// Whether this process has executed itself; says so once.
    static func takeMark() -> Bool {
        defer { unsetenv(variable) }
        return getenv(variable).map { String(cString: $0) } == "\(getpid())"
    }

    private static var path: String { program ?? "/proc/self/exe" }

    /// Why the program that now is where this process's was cannot be executed, as far as that can be told without trying.
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

    /// Executes the program that now is where this process's was.
    ///
    /// - Parameter descriptors: what stays open. Everything else is closed.
    /// - Returns: only when it fails; then everything is as before.
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

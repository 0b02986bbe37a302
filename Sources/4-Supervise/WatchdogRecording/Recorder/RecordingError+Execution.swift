// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

extension RecordingError {
    /// Finds the cause of an ambiguous execve(2) error.
    ///
    /// The exit codes are EX_NOINPUT, EX_NOPERM, EX_DATAERR and EX_OSERR.
    static func cannotExecute(_ request: RecordingRequest, _ reason: Errno) -> RecordingError {
        let path = request.executable
        let head = HeldProgram.head(of: path) ?? []
        switch reason {
        case .noSuchFile:
            return RecordingError("cannot execute \(path): \(missing(head) ?? "no such file")", exitCode: 66)
        case .permissionDenied, .notPermitted:
            return RecordingError(
                "cannot execute \(path): permission denied; is it executable (chmod +x)?", exitCode: 77)
        case .notAProgram:
            return RecordingError("cannot execute \(path): \(foreign(head))", exitCode: 65)
        default: return RecordingError("cannot execute \(path): \(reason)", exitCode: 71)
        }
    }

    private static func missing(_ head: [UInt8]) -> String? {
        guard !head.isEmpty else { return nil }
        guard head.starts(with: "#!".utf8) else {
            return "its dynamic linker does not exist; install the C library that it was built for"
        }
        let line = head.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }
        let name = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.first ?? []
        return "its interpreter '\(String(decoding: name, as: UTF8.self).singleLine(limit: 256))' does not exist"
    }

    /// The machine that watchdogd itself was built for; 0 if its own file cannot be read.
    private static var own: Int {
        guard let head = HeldProgram.head(of: "/proc/self/exe"), head.count > 20 else { return 0 }
        return Int(head[18]) | Int(head[19]) << 8
    }

    /// Describes the machine of an ELF file: elf(5), e_machine.
    private static func foreign(_ head: [UInt8]) -> String {
        guard head.starts(with: [0x7f, 0x45, 0x4c, 0x46]), head.count > 20 else { return "not a program" }
        let machine = Int(head[18]) | Int(head[19]) << 8
        let names = [3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64", 21: "ppc64", 22: "s390x"]
        let name = names[machine] ?? "machine number \(machine)"
        guard machine != own else { return "it is damaged: the kernel does not accept its ELF headers; build it again" }
        return "it is a program for \(name), which this machine cannot run; use a build for this machine"
    }
}

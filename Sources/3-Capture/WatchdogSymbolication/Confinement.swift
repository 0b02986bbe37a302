// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import Glibc

/// The rights that a worker has given up, as far as the kernel supports that.
struct Confinement: OptionSet {
    let rawValue: UInt32

    /// Files may be opened only for reading, and only in certain folders: landlock(7).
    static let files = Confinement(rawValue: WD_CONFINED_FILES.rawValue)
    /// Only the system calls that read files and manage memory: seccomp(2).
    static let calls = Confinement(rawValue: WD_CONFINED_CALLS.rawValue)

    /// Gives up this process's rights permanently.
    static func confine(toFilesIn folders: [String]) -> Confinement {
        let paths = folders.map { strdup($0) }
        defer { for path in paths { free(path) } }
        let result = paths.map { UnsafePointer($0) }.withUnsafeBufferPointer {
            wd_worker_confine($0.baseAddress, $0.count)
        }
        return Confinement(rawValue: result)
    }

    /// Notes for a report about restrictions that are missing.
    var notes: [String] {
        var notes: [String] = []
        if !contains(.files) {
            notes.append("the files were read without landlock(7): the reader could open all that its user may")
        }
        if !contains(.calls) {
            notes.append("the files were read without seccomp(2): the reader could make any system call")
        }
        return notes
    }
}

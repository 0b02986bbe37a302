// SPDX-License-Identifier: Apache-2.0

import CWorker
import Glibc

/// Which rights a worker has given up; it goes without those that the kernel does not take.
struct Confinement: OptionSet {
    let rawValue: UInt32

    /// Files are opened for reading in certain folders only: landlock(7).
    static let files = Confinement(rawValue: WD_CONFINED_FILES.rawValue)
    /// No network, no programs, no other processes, no changes: seccomp(2).
    static let calls = Confinement(rawValue: WD_CONFINED_CALLS.rawValue)

    /// Gives up the rights of this process, for good.
    static func confine(toFilesIn folders: [String]) -> Confinement {
        let paths = folders.map { strdup($0) }
        defer { for path in paths { free(path) } }
        let result = paths.map { UnsafePointer($0) }.withUnsafeBufferPointer {
            wd_worker_confine($0.baseAddress, $0.count)
        }
        return Confinement(rawValue: result)
    }

    /// What a report says of what is missing.
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

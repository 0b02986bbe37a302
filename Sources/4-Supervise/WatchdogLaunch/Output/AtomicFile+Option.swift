// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

extension AtomicFile {
    /// Checks the file of an option before the launch, though it is written after it.
    ///
    /// - Throws: ``RunError`` (EX_CANTCREAT) that names the option and the file.
    package static func check(_ path: String, of option: String) throws(RunError) {
        do throws(LinuxError) {
            try check(path)
        } catch {
            throw .cannotCreate("\(option) \(path): \(error)")
        }
    }

    /// Writes the file of an option.
    ///
    /// - Throws: ``RunError`` (EX_CANTCREAT) that names the option and the file.
    package static func write(_ text: String, to path: String, of option: String) throws(RunError) {
        do throws(LinuxError) {
            try write(Array(text.utf8), to: path)
        } catch {
            throw .cannotCreate("\(option) \(path): \(error)")
        }
    }
}

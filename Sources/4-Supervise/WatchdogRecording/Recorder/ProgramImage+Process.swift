// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

extension ProgramImage {
    /// Reads the executed program of a process; nil if its memory may not be read.
    ///
    /// Blocks while the process is inside execve(2), and on the file system of its code.
    init?(process: Int32) {
        guard let memory = MemoryReader(process: process), let auxiliary = Self.auxiliary(of: process) else {
            return nil
        }
        self.init(auxiliary: auxiliary, memory: memory)
    }

    /// Reads where the executed program of a process starts; nil if its memory may not be read.
    ///
    /// Blocks like ``init(process:)``.
    ///
    /// - Parameter copying: reads the memory with a time limit; nil if the calling thread may block forever.
    init?(startOf process: Int32, by copying: Copying?) {
        let reader = copying.map { copying in MemoryReader { copying.memory(process, at: $0, count: $1) } }
        guard let memory = reader ?? MemoryReader(process: process), let auxiliary = Self.auxiliary(of: process) else {
            return nil
        }
        self.init(startIn: auxiliary, memory: memory)
    }

    private static func auxiliary(of process: Int32) -> [UInt8]? {
        guard let file = try? OwnedDescriptor(opening: "/proc/\(process)/auxv", flags: O_RDONLY) else { return nil }
        var auxiliary = [UInt8](repeating: 0, count: 1024)
        let length = read(file.number, &auxiliary, auxiliary.count)
        return Array(auxiliary.prefix(max(length, 0)))
    }
}

extension MemoryReader {
    /// Reads the memory of a process; nil without permission.
    init?(process: Int32) {
        guard let memory = try? OwnedDescriptor(opening: "/proc/\(process)/mem", flags: O_RDONLY) else { return nil }
        self.init { address, count in
            var bytes = [UInt8](repeating: 0, count: count)
            return pread(memory.number, &bytes, count, off_t(truncatingIfNeeded: address)) == count ? bytes : nil
        }
    }
}

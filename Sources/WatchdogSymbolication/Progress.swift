// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where a worker says what it is doing, in memory that it shares with its parent.
final class Progress {
    private static let size = 4096

    private let fields: UnsafeMutablePointer<Int32>

    /// nil when there is no memory.
    init?() {
        let flags = MAP_SHARED | MAP_ANONYMOUS
        guard let page = mmap(nil, Progress.size, PROT_READ | PROT_WRITE, flags, -1, 0), page != MAP_FAILED else {
            return nil
        }
        fields = page.bindMemory(to: Int32.self, capacity: 2)
        fields[0] = -1
        fields[1] = 0
    }

    deinit {
        munmap(fields, Progress.size)
    }

    /// The image, by index, whose bytes libdw is looking at.
    var image: Int? {
        get { fields[0] < 0 ? nil : Int(fields[0]) }
        set { fields[0] = Int32(clamping: newValue ?? -1) }
    }

    /// The result is being written: it is too late to start over.
    var isWriting: Bool {
        get { fields[1] != 0 }
        set { fields[1] = newValue ? 1 : 0 }
    }
}

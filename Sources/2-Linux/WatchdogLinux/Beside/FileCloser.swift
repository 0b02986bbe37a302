// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Closes files that the configuration names, off the loop.
///
/// Every close of a file calls its file system, which may be one that no longer answers. Each file has its own lane, so
/// that one holds up no other. What strangers pass never comes here, but to a ``Closer``.
enum FileCloser {
    private static let threads = BlockingThreads(BlockingThreads.Limits(threads: 64, threadsPerLane: 1))

    /// Closes a descriptor, which nobody else closes, soon.
    static func close(_ number: Int32) {
        threads.run(in: Int(number), isRefusable: false) { Glibc.close(number) }
    }
}

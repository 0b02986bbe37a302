// SPDX-License-Identifier: Apache-2.0

import Glibc

extension OwnedDescriptor {
    /// A stream of the directory's entries, with a descriptor of its own, for closedir(3); nil with `errno` set.
    public func openDirectory() -> OpaquePointer? {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        guard let stream = fdopendir(copy) else {
            close(copy)
            return nil
        }
        return stream
    }
}

// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
import WatchdogLinux

extension OwnedDescriptor {
    /// Creates a sealed memfd with the given bytes, positioned at its start; nil without memory or descriptors.
    convenience init?(sealing bytes: [UInt8]) {
        let number = wd_create_memfd()
        guard number >= 0 else { return nil }
        self.init(taking: number)
        guard (try? writeAll(bytes, to: number)) != nil, wd_seal_memfd(number) == 0 else { return nil }
    }
}

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
        guard Self.write(bytes, to: number), wd_seal_memfd(number) == 0 else { return nil }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }
}

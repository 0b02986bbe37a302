// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The service manager's descriptor store: what is put there outlives this process and comes back with
/// ``takeDescriptors()`` when it is started again. sd_notify(3), `FDSTORE=1`.
extension ServiceManager {
    /// Whether the service manager takes a name for stored descriptors as it is: 1 to 255 printable ASCII characters, no
    /// colon.
    public static func isStoreName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
    }
}

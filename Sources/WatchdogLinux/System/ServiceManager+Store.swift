// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The service manager's descriptor store: what is put there outlives this process and comes back with
/// ``takeDescriptors()`` when it is started again. sd_notify(3), `FDSTORE=1`.
extension ServiceManager {
    /// The most descriptors that go with one message.
    private static let mostAtOnce = 16

    /// Whether the service manager takes a name for stored descriptors as it is: 1 to 255 printable ASCII characters, no
    /// colon.
    public static func isStoreName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
    }

    /// Puts descriptors under a name into the store, besides those that are there under it.
    ///
    /// They stay there even when the other end of a socket is closed or a process has ended (`FDPOLL=0`): that is what
    /// is to be noticed later.
    ///
    /// - Returns: false when there is no service manager.
    @discardableResult
    public static func store(_ descriptors: [OwnedDescriptor], as name: String) throws(LinuxError) -> Bool {
        precondition(isStoreName(name), "the name of stored descriptors must be one that the service manager keeps")
        precondition(descriptors.count <= mostAtOnce, "too many descriptors for one message")
        return try notify(["FDSTORE=1", "FDPOLL=0", "FDNAME=\(name)"], descriptors: descriptors)
    }

    /// Takes everything that is under a name out of the store.
    ///
    /// - Returns: false when there is no service manager.
    @discardableResult
    public static func removeStored(_ name: String) throws(LinuxError) -> Bool {
        precondition(isStoreName(name), "the name of stored descriptors must be one that the service manager keeps")
        return try notify(["FDSTOREREMOVE=1", "FDNAME=\(name)"])
    }
}

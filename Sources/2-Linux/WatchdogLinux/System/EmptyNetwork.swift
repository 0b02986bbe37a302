// SPDX-License-Identifier: Apache-2.0

import CLinux

/// A network with nothing in it but a loopback device.
public enum EmptyNetwork {
    /// Moves the calling thread, and what it starts from now on, to such a network: network_namespaces(7).
    ///
    /// Without `CAP_SYS_ADMIN`, the process also gets a user namespace, for which it must have only one thread.
    ///
    /// - Throws: ``LinuxError`` if the kernel or its settings allow neither.
    public static func enter() throws(LinuxError) {
        _ = try check("create a network namespace") { wd_enter_empty_network() }
    }
}

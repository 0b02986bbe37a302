// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Parses the forms of ``NetworkAddress`` in a setting.
enum AddressReader {
    /// Parses an address.
    ///
    /// - Parameter bareHost: the host for a port number alone.
    static func address(_ text: String, bareHost: NetworkAddress.Host) throws(ValueError) -> NetworkAddress {
        try read { () throws(NetworkAddress.SyntaxError) in try NetworkAddress(parsing: text, bareHost: bareHost) }
    }

    /// Parses the path or the abstract name of a Unix socket.
    static func unix(_ text: String) throws(ValueError) -> NetworkAddress {
        try read { () throws(NetworkAddress.SyntaxError) in try NetworkAddress(parsingUnix: text) }
    }

    private static func read(
        _ address: () throws(NetworkAddress.SyntaxError) -> NetworkAddress
    ) throws(ValueError) -> NetworkAddress {
        do {
            return try address()
        } catch {
            throw ValueError(message: error.reason)
        }
    }
}

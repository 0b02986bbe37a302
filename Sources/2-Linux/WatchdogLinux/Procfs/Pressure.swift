// SPDX-License-Identifier: Apache-2.0

/// How long a resource was so short that at least one task waited for it: the kernel's pressure stall information.
///
/// Source: `Documentation/accounting/psi.rst`.
public struct Pressure: Hashable, Sendable {
    /// How long some task waited, since the counter was created.
    public let someStalled: Duration

    /// Parses a pressure file; nil if the `some` line or its total is missing.
    public init?(parsing text: some Collection<UInt8>) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.first?.elementsEqual("some".utf8) == true else { continue }
            let key = Array("total=".utf8)
            for word in words where word.starts(with: key) {
                guard let microseconds = Int64(decimal: word.dropFirst(key.count)) else { return nil }
                someStalled = .nanoseconds(microseconds.multipliedReportingOverflow(by: 1_000).partialValue)
                return
            }
        }
        return nil
    }
}

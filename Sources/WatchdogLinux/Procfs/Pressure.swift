// SPDX-License-Identifier: Apache-2.0

/// For how long something was short, so that at least one task waited for it: the kernel's pressure stall information.
///
/// Source: `Documentation/accounting/psi.rst`.
public struct Pressure: Hashable, Sendable {
    /// The time for which some task waited, since the counter exists.
    public let someStalled: Duration

    /// Parses a pressure file; nil if the line `some` or its total is not there.
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

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The names of the fields that ``JournalFiles/texts(_:limit:)`` looks for in an entry.
public struct JournalFieldNames: Sendable {
    /// The longest name that journald accepts.
    static let longest = 64

    /// The number of names, in the order of the values.
    public let count: Int
    /// How many of the names, from the first, end the search when they are found.
    let required: Int
    private let names: [[UInt8]]
    /// The numbers of the names of each length.
    private let numbers: [[Int]]

    /// The names, in the order of the values.
    public var texts: [String] { names.map { String(decoding: $0, as: UTF8.self) } }

    /// - Parameters:
    ///   - required: those that each entry of interest has.
    ///   - optional: found only if they precede the required ones: journald keeps the fields of an entry in the order
    ///     of the message, but those whose values the file has already come first.
    public init(required: [String], optional: [String]) {
        names = (required + optional).map { Array($0.utf8) }
        count = names.count
        self.required = required.count
        var numbers = [[Int]](repeating: [], count: (names.map(\.count).max() ?? 0) + 1)
        for (number, name) in names.enumerated() { numbers[name.count].append(number) }
        self.numbers = numbers
    }

    /// The number of a name.
    func index(of name: UnsafeRawBufferPointer) -> Int? {
        guard name.count < numbers.count else { return nil }
        return numbers[name.count].first { names[$0].elementsEqual(name) }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A file of `name number` lines, such as `cgroup.events` and `cpu.stat`.
struct KeyedNumbers {
    private let text: [UInt8]

    init(_ text: [UInt8]) {
        self.text = text
    }

    /// The number on the first line that begins with a name; nil if there is none.
    ///
    /// Few of a file's numbers are asked for, so they are looked up and not collected.
    subscript(name: StaticString) -> UInt64? {
        name.withUTF8Buffer { name in
            var line = text[...]
            while !line.isEmpty {
                let end = line.firstIndex(of: UInt8(ascii: "\n")) ?? line.endIndex
                let blank = line.startIndex + name.count
                if blank < end, line[blank] == UInt8(ascii: " "), line[..<blank].elementsEqual(name) {
                    return UInt64(decimal: line[(blank + 1)..<end])
                }
                line = line[end...].dropFirst()
            }
            return nil
        }
    }
}

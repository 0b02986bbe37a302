// SPDX-License-Identifier: Apache-2.0

/// A file of `name number` lines, such as `cgroup.events` and `cpu.stat`.
struct KeyedNumbers {
    private var values: [String: UInt64] = [:]

    init(_ text: some Collection<UInt8>) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 2, let value = UInt64(decimal: words[1]) else { continue }
            values[String(decoding: words[0], as: UTF8.self)] = value
        }
    }

    subscript(name: String) -> UInt64? { values[name] }
}

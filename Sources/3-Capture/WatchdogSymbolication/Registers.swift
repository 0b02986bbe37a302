// SPDX-License-Identifier: Apache-2.0

/// The registers of one frame, indexed by DWARF number; each may be unknown.
struct Registers: Equatable {
    private var values: [UInt64]
    private var known: UInt64 = 0

    /// Creates registers that are all unknown.
    init(count: Int) {
        values = Array(repeating: 0, count: min(count, 64))
    }

    subscript(number: Int) -> UInt64? {
        get { values.indices.contains(number) && known & (1 << UInt64(number)) != 0 ? values[number] : nil }
        set {
            guard values.indices.contains(number) else { return }
            values[number] = newValue ?? 0
            known = newValue == nil ? known & ~(1 << UInt64(number)) : known | 1 << UInt64(number)
        }
    }
}

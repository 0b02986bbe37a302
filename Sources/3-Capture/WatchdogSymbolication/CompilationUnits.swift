// SPDX-License-Identifier: Apache-2.0

import CSymbolication

/// The compilation units of one image, sorted by the addresses that they cover.
///
/// libdw finds units through `.debug_aranges` (up to elfutils 0.190), which clang and swiftc do not write, so this
/// sorts the units' own ranges.
struct CompilationUnits {
    private struct Entry {
        var range: Range<UInt64>
        var unit: Int
    }

    private static let unitLimit = 1 << 17
    private static let rangeLimit = 1 << 21
    /// The number of ranges before the nearest one to check for enclosing the address.
    private static let nestingLimit = 8

    /// The offset from an address in the debug information to one in the process.
    let bias: UInt64
    private(set) var units: [CompilationUnit] = []
    private var entries: [Entry] = []

    /// Reads the ranges of all units; nil if the image has no debug information.
    init?(of module: OpaquePointer) {
        var bias: Dwarf_Addr = 0
        guard let dwarf = dwfl_module_getdwarf(module, &bias) else { return nil }
        self.bias = bias
        var offset: Dwarf_Off = 0
        while units.count < CompilationUnits.unitLimit {
            var next: Dwarf_Off = 0
            var headerSize = 0
            // This fails at a unit with a damaged length; the units before it remain usable.
            guard dwarf_nextcu(dwarf, offset, &next, &headerSize, nil, nil, nil) == 0, next > offset else { break }
            var die = Dwarf_Die()
            if dwarf_offdie(dwarf, offset &+ UInt64(headerSize), &die) != nil,
                [DW_TAG_compile_unit, DW_TAG_skeleton_unit].contains(Int(dwarf_tag(&die)))
            {
                appendRanges(of: &die)
                units.append(CompilationUnit(die))
            }
            offset = next
        }
        entries.sort { $0.range.lowerBound < $1.range.lowerBound }
    }

    private mutating func appendRanges(of die: inout Dwarf_Die) {
        for range in DebugInformation.ranges(of: &die) where entries.count < CompilationUnits.rangeLimit {
            entries.append(Entry(range: range, unit: units.count))
        }
    }

    /// The unit that covers an address in the debug information.
    func unit(containing address: UInt64) -> CompilationUnit? {
        let next = entries.partitionPoint { $0.range.lowerBound > address }
        let first = max(0, next - CompilationUnits.nestingLimit)
        return entries[first..<next].last { $0.range.contains(address) }.map { units[$0.unit] }
    }
}

// SPDX-License-Identifier: Apache-2.0

import CSymbolication

/// Bounded access to debugging information entries (DWARF 5, section 2).
enum DebugInformation {
    private static let rangesPerEntry = 1 << 16

    /// The address ranges of an entry; empty for declarations and abstract instances.
    static func ranges(of die: inout Dwarf_Die) -> [Range<UInt64>] {
        guard dwarf_hasattr(&die, UInt32(DW_AT_low_pc)) != 0 || dwarf_hasattr(&die, UInt32(DW_AT_ranges)) != 0 else {
            return []
        }
        var ranges: [Range<UInt64>] = []
        var offset = 0
        var base: Dwarf_Addr = 0
        var low: Dwarf_Addr = 0
        var high: Dwarf_Addr = 0
        while ranges.count < rangesPerEntry {
            offset = dwarf_ranges(&die, offset, &base, &low, &high)
            guard offset > 0 else { break }
            // Code that the linker removed begins at 0 or at the largest address.
            guard low < high, low != 0 else { continue }
            ranges.append(low..<high)
        }
        return ranges
    }

    /// The mangled name, or else the plain one, of an entry or of the entry that it is an instance of.
    static func name(of die: inout Dwarf_Die) -> String? {
        for attribute in [DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name] {
            var value = Dwarf_Attribute()
            guard dwarf_attr_integrate(&die, UInt32(attribute), &value) != nil, let name = dwarf_formstring(&value)
            else { continue }
            return String(cString: name)
        }
        return nil
    }

    static func unsigned(_ attribute: Int, of die: inout Dwarf_Die) -> UInt64? {
        var value = Dwarf_Attribute()
        var number: Dwarf_Word = 0
        guard dwarf_attr(&die, UInt32(attribute), &value) != nil, dwarf_formudata(&value, &number) == 0 else {
            return nil
        }
        return number
    }

    /// Calls `visit` for each child until it returns false or there are no more entries.
    static func forEachChild(of die: inout Dwarf_Die, _ visit: (inout Dwarf_Die) -> Bool) {
        var child = Dwarf_Die()
        guard dwarf_child(&die, &child) == 0 else { return }
        repeat {
            guard visit(&child) else { return }
            var next = Dwarf_Die()
            guard dwarf_siblingof(&child, &next) == 0 else { return }
            child = next
        } while true
    }
}

// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import Glibc

/// The functions of one image, sorted, so that a lookup takes O(log n).
///
/// `dwfl_module_addrinfo` walks all symbols on each lookup: that takes 1 ms in a statically linked Swift program.
struct SymbolTable {
    struct Symbol {
        var address: UInt64
        /// 0 for labels in assembly.
        var size: UInt64
        /// Valid during the image's libdwfl session.
        var name: UnsafePointer<CChar>
        /// 0 global, 1 weak, 2 local.
        var rank: UInt8
    }

    private static let symbolLimit: Int32 = 8 << 20
    /// The number of symbols before the nearest one to check for enclosing the address.
    private static let nestingLimit = 16
    /// The maximum distance of an address from a symbol without a size to which it belongs.
    private static let unsizedReach: UInt64 = 1 << 16

    private let symbols: [Symbol]

    /// Reads the image's symbols from its file, separate debug information and `.gnu_debugdata`.
    init(of module: OpaquePointer, file: ElfFile) {
        var symbols: [Symbol] = []
        let count = min(dwfl_module_getsymtab(module), SymbolTable.symbolLimit)
        for index in 0..<max(count, 0) {
            var entry = GElf_Sym()
            var address: GElf_Addr = 0
            guard let name = dwfl_module_getsym_info(module, index, &entry, &address, nil, nil, nil),
                let rank = SymbolTable.rank(of: entry), name.pointee != 0, file.isCode(address)
            else { continue }
            symbols.append(Symbol(address: address, size: entry.st_size, name: name, rank: rank))
        }
        self.init(symbols)
    }

    init(_ symbols: [Symbol]) {
        self.symbols = symbols.sorted { $0.address < $1.address }
    }

    /// Nil unless the symbol is a function: for data, sections, files, undefined symbols.
    private static func rank(of entry: GElf_Sym) -> UInt8? {
        guard entry.st_shndx != SHN_UNDEF else { return nil }
        switch Int32(entry.st_info & 15) {
        case STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE: break
        default: return nil
        }
        switch Int32(entry.st_info >> 4) {
        case STB_GLOBAL, STB_GNU_UNIQUE: return 0
        case STB_WEAK: return 1
        case STB_LOCAL: return 2
        default: return nil
        }
    }

    /// The function that contains `address`: the innermost one with a size, or else the nearest label before it.
    func symbol(containing address: UInt64) -> Symbol? {
        let next = symbols.partitionPoint { $0.address > address }
        var start: UInt64?
        var label: UInt64?
        for index in stride(from: next - 1, through: max(0, next - SymbolTable.nestingLimit), by: -1) {
            let symbol = symbols[index]
            if address - symbol.address < symbol.size {
                start = symbol.address
                break
            }
            if symbol.size == 0, label == nil, address - symbol.address < SymbolTable.unsizedReach {
                label = symbol.address
            }
            // A sized symbol between the label and the address also ends the label.
            if symbol.size != 0, label == nil { label = .max }
        }
        guard let found = start ?? label, found != .max else { return nil }
        return preferredName(at: found, containing: address)
    }

    /// Chooses one of several names for the same address, such as `read`, `__read` and `__libc_read`.
    private func preferredName(at start: UInt64, containing address: UInt64) -> Symbol? {
        let first = symbols.partitionPoint { $0.address >= start }
        let aliases = symbols[first...].prefix { $0.address == start }
        let sized = aliases.filter { address - $0.address < $0.size }
        return (sized.isEmpty ? Array(aliases) : sized).min { SymbolTable.isBetterName($0, $1) }
    }

    private static func isBetterName(_ left: Symbol, _ right: Symbol) -> Bool {
        let (leftName, rightName) = (bytes(left.name), bytes(right.name))
        let (leftPrefix, rightPrefix) = (underscores(leftName), underscores(rightName))
        if leftPrefix != rightPrefix { return leftPrefix < rightPrefix }
        if left.rank != right.rank { return left.rank < right.rank }
        if leftName.count != rightName.count { return leftName.count < rightName.count }
        return leftName.lexicographicallyPrecedes(rightName)
    }

    private static func bytes(_ name: UnsafePointer<CChar>) -> UnsafeBufferPointer<CChar> {
        UnsafeBufferPointer(start: name, count: strnlen(name, 4096))
    }

    /// The number of leading underscores, except the one that belongs to a mangled C++ name.
    private static func underscores(_ name: UnsafeBufferPointer<CChar>) -> Int {
        let count = name.prefix { $0 == CChar(bitPattern: UInt8(ascii: "_")) }.count
        let isMangled = count == 1 && name.count > 1 && name[1] == CChar(bitPattern: UInt8(ascii: "Z"))
        return isMangled ? 0 : count
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The pages of a process with known bytes; the unknown bytes of such a page are zero.
struct CoreMemory {
    static let pageSize = 4096
    private static let blank = [UInt8](repeating: 0, count: pageSize)
    /// Above what any program can map on x86-64, with five levels of page tables.
    private static let end: UInt64 = 1 << 56

    private var pages: [UInt64: [UInt8]] = [:]

    var byteCount: Int { pages.count * Self.pageSize }
    /// The addresses of the pages, in ascending order.
    var addresses: [UInt64] { pages.keys.sorted() }

    subscript(page: UInt64) -> [UInt8] { pages[page] ?? Self.blank }

    /// The address of the page that contains an address.
    static func page(of address: UInt64) -> UInt64 { address & ~UInt64(pageSize - 1) }

    /// Adds bytes; they replace known ones.
    mutating func put(_ bytes: ArraySlice<UInt8>, at address: UInt64) {
        guard address < Self.end else { return }
        var rest = bytes
        var address = address
        while !rest.isEmpty {
            let page = Self.page(of: address)
            let offset = Int(address - page)
            let part = rest.prefix(Self.pageSize - offset)
            pages[page, default: Self.blank].replaceSubrange(offset..<offset + part.count, with: part)
            rest = rest.dropFirst(part.count)
            address += UInt64(part.count)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import CSymbolication

/// The symbol tables of all images; each is read on first use.
final class Symbols {
    /// A function found by address.
    struct Function {
        var address: UInt64
        /// The mangled name, without a version (`memcpy@GLIBC_2.2.5`).
        var name: String
    }

    /// Mangled names can be long, but a longer one is hostile; it would be copied to the report and parsed by two
    /// recursive demanglers.
    private static let nameLimit = 4096

    private let images: ImageTable
    private var tables: [Int: SymbolTable?] = [:]
    private var goTables: [Int: GoFunctionTable?] = [:]
    private var goFunctions: [UInt64: GoFunctionTable.Function?] = [:]
    private var cache: [UInt64: Function?] = [:]

    init(_ images: ImageTable) {
        self.images = images
    }

    /// The function that contains `address`; nil for data, which can be the target of a wild jump.
    func function(containing address: UInt64) -> Function? {
        if let known = cache[address] { return known }
        let image = images.index(containing: address).flatMap {
            images.file(of: $0)?.isCode(address) == true ? $0 : nil
        }
        var function = image.flatMap(table(of:))?.symbol(containing: address).map {
            Function(address: $0.address, name: Symbols.name($0.name))
        }
        if function == nil, let found = goFunction(containing: address) {
            function = Function(address: found.start, name: found.name)
        }
        cache[address] = .some(function)
        return function
    }

    /// The function of a Go program that contains `address`, from Go's own table.
    func goFunction(containing address: UInt64) -> GoFunctionTable.Function? {
        if let known = goFunctions[address] { return known }
        let function = images.index(containing: address).flatMap(goTable(of:))?.lookUp(address)
        goFunctions[address] = .some(function)
        return function
    }

    private func goTable(of image: Int) -> GoFunctionTable? {
        if let known = goTables[image] { return known }
        let table = images.file(of: image).flatMap(GoFunctionTable.init)
        goTables[image] = .some(table)
        return table
    }

    private func table(of image: Int) -> SymbolTable? {
        if let known = tables[image] { return known }
        var table: SymbolTable?
        if let file = images.file(of: image), let module = images.module(image) {
            table = SymbolTable(of: module, file: file)
        }
        tables[image] = .some(table)
        return table
    }

    private static func name(_ name: UnsafePointer<CChar>) -> String {
        let bytes = UnsafeRawBufferPointer(start: name, count: strnlen(name, nameLimit))
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "@") }, as: UTF8.self)
    }
}

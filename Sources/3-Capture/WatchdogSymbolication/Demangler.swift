// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import Glibc

/// Converts symbols to readable names.
enum Demangler {
    /// The short readable form of a Swift, C++ or Rust symbol; any other name is returned unchanged.
    ///
    /// The short form omits module, return type and notes about asynchronous parts: `closure #1 in
    /// Service.run(depth:)`.
    static func demangle(_ name: String) -> String {
        let name = withoutCompilerSuffix(name)
        if let rust = RustName.demangle(name) { return rust }
        guard isMangled(name), let readable = wd_demangle(name) else { return name }
        defer { free(readable) }
        let result = String(cString: readable)
        // Top-level code has no name, so the demangler returns "closure #1 in ".
        if result.hasSuffix(" in ") { return result + "top-level code" }
        return result.isEmpty ? name : withoutRustHash(result)
    }

    /// Whether this is a Swift function that only forwards to another: a reabstraction thunk or partial-apply
    /// forwarder.
    static func isThunk(_ name: String) -> Bool {
        isSwift(name) && wd_is_thunk(name)
    }

    static func isSwift(_ name: String) -> Bool {
        name.hasPrefix("$s") || name.hasPrefix("$S") || name.hasPrefix("$e") || name.hasPrefix("_T0")
    }

    /// Whether this is a part of an asynchronous Swift function; such a part keeps its context in a dedicated register.
    ///
    /// `Ya` marks the type of the function itself; `…TQ<n>_` and `…TY<n>_` are the parts after an await
    /// (docs/ABI/Mangling.rst in the Swift repository). The name of a function that merely takes an asynchronous one
    /// also contains `Ya`. That is harmless, because the value in the register is checked to be a valid context.
    static func isAsynchronous(_ name: String) -> Bool {
        guard isSwift(name) else { return false }
        if name.contains("Ya") { return true }
        guard name.hasSuffix("_") else { return false }
        var rest = name.dropLast()
        while let last = rest.last, last.isNumber { rest = rest.dropLast() }
        return rest.hasSuffix("TY") || rest.hasSuffix("TQ")
    }

    private static func isMangled(_ name: String) -> Bool {
        isSwift(name) || name.hasPrefix("_Z")
    }

    /// Strips suffixes as in `parse.constprop.0` and `parse.cold`, with which GCC and LLVM mark specialized, split and
    /// cold parts of a function.
    private static func withoutCompilerSuffix(_ name: String) -> String {
        guard !isSwift(name) else { return name }
        let marks: Set<Substring> = ["cold", "constprop", "isra", "part", "lto_priv", "llvm", "clone"]
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard let end = parts.dropFirst().firstIndex(where: marks.contains), parts[0] != "" else { return name }
        return parts[..<end].joined(separator: ".")
    }

    /// Strips the hash in `core::fmt::write::h0123456789abcdef`, which is not part of the function's name.
    private static func withoutRustHash(_ name: String) -> String {
        guard let separator = name.range(ofLast: "::h") else { return name }
        let hash = name[separator...].dropFirst(3)
        return hash.count == 16 && hash.allSatisfy(\.isHexDigit) ? String(name[..<separator]) : name
    }
}

extension String {
    /// The start of the last occurrence of `text`.
    fileprivate func range(ofLast text: String) -> Index? {
        var index = endIndex
        while index > startIndex {
            formIndex(before: &index)
            if self[index...].hasPrefix(text) { return index }
        }
        return nil
    }
}

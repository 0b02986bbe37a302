// SPDX-License-Identifier: Apache-2.0

import CElfutils
import Glibc

/// Readable names of symbols.
enum Demangler {
    /// The short readable form of a Swift, C++ or older Rust symbol; any other name is returned as it is.
    ///
    /// Short means without module, return type and the notes on asynchronous parts: `closure #1 in Service.run(depth:)`.
    static func demangle(_ name: String) -> String {
        guard isMangled(name), let readable = wd_demangle(name) else { return name }
        defer { free(readable) }
        let result = String(cString: readable)
        return result.isEmpty ? name : withoutRustHash(result)
    }

    /// True for a Swift function that only forwards to another: reabstraction thunks, partial-apply forwarders.
    static func isThunk(_ name: String) -> Bool {
        isSwift(name) && wd_is_thunk(name)
    }

    static func isSwift(_ name: String) -> Bool {
        name.hasPrefix("$s") || name.hasPrefix("$S") || name.hasPrefix("$e") || name.hasPrefix("_T0")
    }

    /// True for the parts of Swift's asynchronous functions, which keep their context in a register of its own.
    ///
    /// `…YaF` is the function up to its first suspension, `…TQ<n>_` and `…TY<n>_` are what follows an await
    /// (docs/ABI/Mangling.rst in the Swift repository).
    static func isAsynchronous(_ name: String) -> Bool {
        guard isSwift(name) else { return false }
        var rest = Substring(name)
        if rest.hasSuffix("_") {
            rest = rest.dropLast()
            while let last = rest.last, last.isNumber { rest = rest.dropLast() }
            return rest.hasSuffix("TY") || rest.hasSuffix("TQ")
        }
        return rest.hasSuffix("YaF") || rest.hasSuffix("YaKF") || rest.contains("YaF") || rest.contains("YaKF")
            || rest.contains("YaKcF") || rest.contains("YacF")
    }

    private static func isMangled(_ name: String) -> Bool {
        isSwift(name) || name.hasPrefix("_Z")
    }

    /// `core::fmt::write::h0123456789abcdef`: the hash is no part of the function's name.
    private static func withoutRustHash(_ name: String) -> String {
        guard let separator = name.range(ofLast: "::h") else { return name }
        let hash = name[separator...].dropFirst(3)
        return hash.count == 16 && hash.allSatisfy(\.isHexDigit) ? String(name[..<separator]) : name
    }
}

extension String {
    /// Where the last occurrence of `text` begins.
    fileprivate func range(ofLast text: String) -> Index? {
        var index = endIndex
        while index > startIndex {
            formIndex(before: &index)
            if self[index...].hasPrefix(text) { return index }
        }
        return nil
    }
}

// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension CodeOwner {
    /// Classifies a function in the program's own file: with Go, Rust and C++, that file also contains the standard
    /// library and packages.
    ///
    /// - Parameters:
    ///   - symbol: the function's demangled name; nil if unknown.
    ///   - file: its source file; nil if unknown.
    package init(compiled symbol: String?, file: String?) {
        if let file, let owner = Self.owner(ofSource: file, symbol) {
            self = owner
        } else {
            self = symbol.map(Self.isStandard) == true ? .runtime : .app
        }
    }

    /// The owner according to the source file; nil if the path does not show it.
    private static func owner(ofSource file: String, _ symbol: String?) -> CodeOwner? {
        // The Go linker also keeps the source files of assembly code.
        if file.hasSuffix(".go") || file.hasSuffix(".s") {
            if let symbol, goPackages.contains(symbol.prefix { $0 != "/" && $0 != "." }), symbol.contains(".") {
                return .runtime
            }
            // A module outside the app, also in a build with -trimpath: github.com/lib/pq@v1.10.9/conn.go.
            return ["/pkg/mod/", "/vendor/", "@v"].contains { file.contains($0) } ? .package : nil
        }
        if file.hasSuffix(".rs") {
            // Rust's own source, as in the distributed libraries and as installed with rust-src.
            let isStandard =
                file.hasPrefix("/rustc/") || file.hasPrefix("library/") || file.contains("/lib/rustlib/src/rust/")
            if isStandard { return .runtime }
            return file.contains("/registry/src/") || file.contains("/git/checkouts/") ? .package : nil
        }
        // Templates and inline functions of the C++ standard library.
        if file.contains("/include/c++/") || file.hasPrefix("/usr/lib/gcc/") { return .runtime }
        return file.hasPrefix("/usr/include/") || file.hasPrefix("/usr/local/include/") ? .package : nil
    }

    /// Whether a name is from the standard library of C++ or Rust.
    private static func isStandard(_ symbol: String) -> Bool {
        let name = qualifiedName(symbol)
        let parts = name.split(separator: "::", maxSplits: 2)
        guard parts.count > 1 else {
            return name.hasPrefix("__rust_") || ["rust_begin_unwind", "rust_panic"].contains(name)
        }
        switch parts[0] {
        case "std", "__gnu_cxx", "__cxxabiv1": return true
        // `core` alone is not enough, because a C++ program may have a namespace of that name.
        case "core": return parts.count > 2 && coreModules.contains(parts[1])
        case "alloc": return parts.count > 2 && allocModules.contains(parts[1])
        default: return false
        }
    }

    /// `std::thread::join` of `void std::thread::join<int>(int)`: without the type that a C++ template function returns, and
    /// without the `<` of Rust's `<std::net::TcpStream as std::io::Read>::read`.
    private static func qualifiedName(_ symbol: String) -> Substring {
        var (start, depth) = (symbol.startIndex, 0)
        scan: for (index, byte) in zip(symbol.utf8.indices, symbol.utf8) {
            switch byte {
            case UInt8(ascii: "<"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ">"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "(") where depth == 0: break scan
            case UInt8(ascii: " ") where depth == 0: start = symbol.utf8.index(after: index)
            default: break
            }
        }
        return symbol[start...].drop { "<&*".contains($0) }
    }

    private static let coreModules: Set<Substring> = [
        "any", "array", "cell", "clone", "cmp", "convert", "default", "fmt", "future", "hash", "iter", "mem", "num",
        "ops", "option", "panicking", "pin", "ptr", "result", "slice", "str", "sync", "task", "time",
    ]
    private static let allocModules: Set<Substring> = [
        "alloc", "borrow", "boxed", "collections", "fmt", "raw_vec", "rc", "slice", "str", "string", "sync", "vec",
    ]

    /// The first parts of the import paths of Go's standard library.
    private static let goPackages: Set<Substring> = [
        "archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug",
        "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal",
        "io", "iter", "log", "maps", "math", "mime", "net", "os", "path", "plugin", "reflect", "regexp", "runtime",
        "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing", "text", "time", "unicode",
        "unique", "unsafe", "vendor", "weak",
    ]
}

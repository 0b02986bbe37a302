// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension CodeOwner {
    /// Whose a function is that the compiler put into the program's own file: of Go, Rust and C++, that file also has the
    /// standard library and the packages that the app uses.
    ///
    /// - Parameters:
    ///   - symbol: the function's demangled name; nil if it is not known.
    ///   - file: the file that it was written in; nil if it is not known.
    package init(compiled symbol: String?, file: String?) {
        if let file, let owner = Self.owner(ofSource: file, symbol) {
            self = owner
        } else {
            self = symbol.map(Self.isStandard) == true ? .runtime : .app
        }
    }

    /// Nil where the file says nothing.
    private static func owner(ofSource file: String, _ symbol: String?) -> CodeOwner? {
        // The Go linker keeps the files of assembly code, too.
        if file.hasSuffix(".go") || file.hasSuffix(".s") {
            if let symbol, goPackages.contains(symbol.prefix { $0 != "/" && $0 != "." }), symbol.contains(".") {
                return .runtime
            }
            // Of a module from elsewhere, also in a build with -trimpath: github.com/lib/pq@v1.10.9/conn.go.
            return ["/pkg/mod/", "/vendor/", "@v"].contains { file.contains($0) } ? .package : nil
        }
        if file.hasSuffix(".rs") {
            // What comes with the compiler, as distributed and as installed with rust-src.
            let isStandard =
                file.hasPrefix("/rustc/") || file.hasPrefix("library/") || file.contains("/lib/rustlib/src/rust/")
            if isStandard { return .runtime }
            return file.contains("/registry/src/") || file.contains("/git/checkouts/") ? .package : nil
        }
        // Templates and inline functions.
        if file.contains("/include/c++/") || file.hasPrefix("/usr/lib/gcc/") { return .runtime }
        return file.hasPrefix("/usr/include/") || file.hasPrefix("/usr/local/include/") ? .package : nil
    }

    /// Whether a name is one of the standard library of C++ or Rust.
    private static func isStandard(_ symbol: String) -> Bool {
        let name = qualifiedName(symbol)
        let parts = name.split(separator: "::", maxSplits: 2)
        guard parts.count > 1 else {
            return name.hasPrefix("__rust_") || ["rust_begin_unwind", "rust_panic"].contains(name)
        }
        switch parts[0] {
        case "std", "__gnu_cxx", "__cxxabiv1": return true
        // Those are names that a program in C++ may have as well.
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

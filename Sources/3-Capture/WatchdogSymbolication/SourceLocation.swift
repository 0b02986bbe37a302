// SPDX-License-Identifier: Apache-2.0

/// A file and a line.
struct SourceLocation: Equatable {
    var path: String
    var line: Int

    init(path: String, line: Int) {
        self.path = path
        self.line = line
    }

    /// Nil for code without a source line: compilers mark it with line 0, swiftc also with a file of this name.
    init?(path: UnsafePointer<CChar>, line: UInt64) {
        let path = String(cString: path)
        guard line > 0, line <= UInt64(Int32.max), !path.hasSuffix("<compiler-generated>") else { return nil }
        self.path = path
        self.line = Int(line)
    }
}

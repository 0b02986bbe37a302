// SPDX-License-Identifier: Apache-2.0

/// A file and a line in it.
struct SourceLocation: Equatable {
    var path: String
    var line: Int

    /// nil for code without a line of its own: compilers mark it with line 0.
    init?(path: UnsafePointer<CChar>, line: UInt64) {
        guard line > 0, line <= UInt64(Int32.max) else { return nil }
        self.path = String(cString: path)
        self.line = Int(line)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Whose code a Python file holds, according to its path.
package enum PythonFile: Comparable {
    /// The app's own script or package.
    case script
    /// An installed package.
    case package
    /// Part of Python itself.
    case standardLibrary

    /// - Parameter path: `co_filename` of a code object; nil if it is not known.
    package init(_ path: String?) {
        guard let path else {
            self = .script
            return
        }
        // Paths are a hostile program's: one pass over the bytes, without regular expressions.
        let folders = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst().dropLast()
        if folders.contains(where: { Self.packages.contains(String($0) ?? "") }) {
            self = .package
        } else if path.hasPrefix("<frozen ") || zip(folders, folders.dropFirst()).contains(where: Self.isLibrary) {
            self = .standardLibrary
        } else {
            // `<string>` and `<stdin>` are the script of `python3 -c` and of `python3 -`.
            self = path.hasPrefix("<") && path != "<string>" && path != "<stdin>" ? .package : .script
        }
    }

    private static let packages: Set<String> = ["site-packages", "dist-packages"]
    private static let libraries: Set<String> = ["lib", "lib32", "lib64"]
    private static let prefix = "python3."

    /// Whether two folders are `lib/python3.N`.
    private static func isLibrary(_ parent: Substring.UTF8View, _ folder: Substring.UTF8View) -> Bool {
        let version = folder.dropFirst(prefix.utf8.count)
        return libraries.contains(String(parent) ?? "") && folder.starts(with: prefix.utf8) && !version.isEmpty
            && version.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

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
        if path.contains("/site-packages/") || path.contains("/dist-packages/") {
            self = .package
        } else if path.hasPrefix("<frozen ") || path.contains(#//lib(?:32|64)?/python3\.\d+//#) {
            self = .standardLibrary
        } else {
            // `<string>` and `<stdin>` are the script of `python3 -c` and of `python3 -`.
            self = path.hasPrefix("<") && path != "<string>" && path != "<stdin>" ? .package : .script
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A path without links, or the path itself if there is no such file.
func canonicalPath(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
}

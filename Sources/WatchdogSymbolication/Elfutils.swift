// SPDX-License-Identifier: Apache-2.0

import CElfutils

/// libdw and libelf, which this process loads when it first needs them.
enum Elfutils {
    /// Why the libraries cannot be used; nil if they are loaded.
    ///
    /// A worker cannot load them: it may map no code. Whoever starts workers asks first.
    static let problem: String? = wd_elfutils_load().map { String(cString: $0) }
}

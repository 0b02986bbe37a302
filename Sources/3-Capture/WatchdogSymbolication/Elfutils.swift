// SPDX-License-Identifier: Apache-2.0

import CSymbolication

/// libdw and libelf, which this process loads on first use.
enum Elfutils {
    /// The reason why the libraries cannot be used; nil if they are loaded.
    ///
    /// A worker cannot load them, because it may not map code. So read this before starting a worker.
    static let problem: String? = wd_elfutils_load().map { String(cString: $0) }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogLinux

@Suite("Names of journal fields")
struct JournalFieldNameTests {
    private let names = JournalFieldNames(required: ["WATCHDOGD_APP", "_UID"], optional: ["_EXE", "WATCHDOGD_EVENT"])

    private func index(_ name: String) -> Int? {
        Array(name.utf8).withUnsafeBytes { names.index(of: $0) }
    }

    @Test("Each name has its number, the required ones first")
    func numbers() {
        #expect(names.texts.map(index) == [0, 1, 2, 3])
        #expect(names.count == 4 && names.required == 2)
    }

    @Test(
        "Another name has none, also one of the same length, a prefix or a longer one",
        arguments: [
            "WATCHDOGD_APQ", "WATCHDOGD_AP", "WATCHDOGD_APP_VERSION", "", "_GID", String(repeating: "A", count: 64),
        ])
    func others(name: String) {
        #expect(index(name) == nil)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("FNV-1a")
struct FNV1aTests {
    @Test(
        "The hash matches its authors' vectors",
        arguments: [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
            as [(String, UInt64)])
    func vectors(text: String, hash: UInt64) {
        #expect(FNV1a.hash(of: text) == hash)
    }

    @Test("Pieces hash like the whole")
    func pieces() {
        var hash = FNV1a()
        hash.combine(Array("foo".utf8))
        hash.combine(Array("bar".utf8))
        #expect(hash.value == FNV1a.hash(of: "foobar"))
    }
}

// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import WatchdogControl

@Suite("Plain requests")
struct PlainRequestTests {
    @Test("a plain request is what the encoder would have written", arguments: [true, false])
    func plainRequest(waits: Bool) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for code in UInt8(1)..<0x80 {
            let request = AppRequest("a\(UnicodeScalar(code))/b", waits: waits)
            let encoded = String(decoding: try encoder.encode(request), as: UTF8.self)
            if let plain = request.plainJSON { #expect(plain == encoded) }
            let needsEscape = code < 0x20 || code == 0x7f || [0x22, 0x5c].contains(code)
            #expect((request.plainJSON == nil) == needsEscape)
        }
        #expect(AppRequest("ü", waits: waits).plainJSON == nil)
    }
}

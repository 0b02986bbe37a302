// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogReport

@Suite("The app's place in an orchestrator")
struct WorkloadTests {
    private func workload(_ variables: [String: String]) -> WorkloadDetails? { WorkloadDetails { variables[$0] } }

    @Test("comes from the variables that manifests set")
    func variables() throws {
        #expect(workload([:]) == nil)
        let found = try #require(
            workload(["POD_NAME": "cart-7f", "POD_NAMESPACE": "shop", "NODE_NAME": "n2", "CONTAINER_NAME": "cart"]))
        #expect(found.words == "pod shop/cart-7f · container cart · node n2")
        #expect(found.pairs.map(\.name) == ["POD_NAME", "POD_NAMESPACE", "NODE_NAME", "CONTAINER_NAME"])
    }

    @Test("contains only names of valid length", arguments: ["", "a b", "a\n", "\u{e4}", "$(x)", "a\"b"])
    func strange(name: String) {
        #expect(workload(["POD_NAME": name]) == nil)
        #expect(workload(["POD_NAME": String(repeating: "a", count: 253)])?.podName?.count == 253)
        #expect(workload(["POD_NAME": String(repeating: "a", count: 254)]) == nil)
        #expect(workload(["POD_NAME": name, "NODE_NAME": "n1"])?.words == "node n1")
    }

    @Test("Text is bounded in bytes, between characters")
    func bounded() {
        #expect("abcdef".bounded(bytes: 6) == "abcdef")
        #expect("abcdefg".bounded(bytes: 6) == "abc...")
        #expect("\u{1f415}\u{1f415}".bounded(bytes: 7) == "\u{1f415}...")
        #expect("abcdef".bounded(bytes: 2) == "..")
    }
}

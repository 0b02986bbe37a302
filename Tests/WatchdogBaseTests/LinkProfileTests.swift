// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Link profiles")
struct LinkProfileTests {
    @Test("The presets have the names that developers know")
    func names() throws {
        let names = LinkProfile.presets.map(\.name)
        #expect(Set(names).count == names.count)
        for name in ["3g", "edge", "very-bad-network", "100-percent-loss"] {
            #expect(names.contains(name))
        }
        #expect(try LinkProfile.named("3G").downlink.bytesPerSecond == 97_500)
    }

    @Test("An unknown preset lists the choices")
    func unknown() {
        #expect {
            try LinkProfile.named("5g")
        } throws: { error in
            "\(error)".hasPrefix("unknown profile '5g'; use one of perfect, wifi, lte, dsl, 3g, edge, very-bad-network")
        }
    }

    @Test("The window of a connection holds the link's capacity, within bounds", arguments: LinkProfile.presets)
    func window(profile: LinkProfile) {
        for direction in [profile.downlink, profile.uplink] {
            #expect((65_536...1_048_576).contains(direction.window))
            let delay = Double(direction.delay.components.attoseconds) / 1e18
            #expect(Double(direction.window) >= Double(direction.bytesPerSecond ?? 0) * delay)
        }
    }

    @Test("Twice the time scale means half the bandwidth and twice the delays")
    func scale() throws {
        let profile = try LinkProfile.named("3g")
        let scaled = profile.scaled(by: 2)
        #expect(scaled.downlink.bytesPerSecond == 48_750)
        #expect(scaled.uplink.delay == .milliseconds(200))
        #expect(scaled.retransmission == .milliseconds(800))
        #expect(scaled.downlink.loss == profile.downlink.loss)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogPolicy

@testable import WatchdogSupervisor

@Suite("What a run says if nothing watches its program for hangs")
struct HangAdviceTests {
    private let server = HangAdvice(isWatched: false, ["python3", "-m", "http.server", "8081"], .automatic)

    @Test(
        "a program that was found ready, or assumed to be, is known to be silent",
        arguments: [ReadinessSource.assumed, .probe])
    func silent(_ source: ReadinessSource) {
        let line = server.line(about: "web", ready: source)
        #expect(line == "nothing watches web for hangs; add --probe tcp:127.0.0.1:8081")
    }

    @Test(
        "of one that says that it is ready, or that is ready at once, nothing is known yet",
        arguments: [ReadinessSource.channel, .notify, .exec])
    func unknown(_ source: ReadinessSource) {
        #expect(server.line(about: "web", ready: source) == nil)
    }

    @Test("there is nothing to say of one that is watched")
    func watched() {
        let advice = HangAdvice(isWatched: true, ["redis-server"], .automatic)
        #expect(advice.option == nil && advice.line(about: "web", ready: .assumed) == nil)
    }

    @Test("where nothing tells the address, the kinds of probes are named")
    func unguessable() {
        let advice = HangAdvice(isWatched: false, ["shop"], .automatic)
        #expect(advice.option == "--probe tcp:ADDR, --probe http://ADDR/PATH or --probe exec:CMD")
    }
}

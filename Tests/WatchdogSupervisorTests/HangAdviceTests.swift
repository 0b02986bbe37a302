// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration
import WatchdogPolicy

@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("Advice for a run that is not watched for hangs")
struct HangAdviceTests {
    private let server = HangAdvice(isWatched: false, ["python3", "-m", "http.server", "8081"], .automatic)

    @Test(
        "a program that was found or assumed ready is known to be silent",
        arguments: [ReadinessSource.assumed, .probe])
    func silent(_ source: ReadinessSource) {
        let line = server.line(about: "web", ready: source)
        #expect(line == "nothing watches web for hangs; add --probe tcp:127.0.0.1:8081")
    }

    @Test(
        "a program that reports READY=1 or is ready at once is not yet known to be silent",
        arguments: [ReadinessSource.channel, .notify, .exec])
    func unknown(_ source: ReadinessSource) {
        #expect(server.line(about: "web", ready: source) == nil)
    }

    @Test("a watched program gets no advice")
    func watched() {
        let advice = HangAdvice(isWatched: true, ["redis-server"], .automatic)
        #expect(advice.option == nil && advice.line(about: "web", ready: .assumed) == nil)
    }

    @Test("if the address cannot be guessed, the advice lists the kinds of probes")
    func unguessable() {
        let advice = HangAdvice(isWatched: false, ["shop"], .automatic)
        #expect(advice.option == "--probe tcp:ADDR, --probe http://ADDR/PATH or --probe exec:CMD")
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import WatchdogConversation
public import WatchdogPolicy

extension SupervisedApp {
    /// Expects that the watchdog kills the app, and waits for it.
    ///
    /// ```swift
    /// let kill = try await app.expectKill(.ateBadFood, during: .sceneCreate)
    /// #expect(try kill.report.mainThread.contains("loadFeed()"))
    /// ```
    ///
    /// - Parameters:
    ///   - code: The termination code; nil for any.
    ///   - event: The watched event; nil for any.
    ///   - limit: The time limit, which must exceed the allowance.
    /// - Throws: ``ExpectationFailure`` with a description of what the app did instead.
    @discardableResult
    public func expectKill(
        _ code: TerminationCode? = nil, during event: WatchdogEvent? = nil, within limit: Duration = patience
    ) async throws -> Termination {
        let expected =
            "expected \(name) to be killed"
            + (code.map { " with \($0.hexadecimal)" } ?? "") + (event.map { " during \($0.rawValue)" } ?? "")
        let termination: Termination
        do {
            termination = try await self.termination(within: limit)
        } catch is ExpectationFailure {
            throw fail("\(expected), but it is alive after \(limit)")
        }
        guard let kill = termination.kill else { throw fail("\(expected), but \(termination)") }
        guard code == nil || kill.code == code, event == nil || kill.event == event else {
            let actual = [kill.code?.hexadecimal, kill.event?.rawValue].compactMap(\.self)
            throw fail("\(expected), but it was killed with \(actual.joined(separator: " during "))")
        }
        return termination
    }

    /// Expects that the app stays alive and has no incident for this long.
    ///
    /// - Throws: ``ExpectationFailure`` as soon as the app ends or exhausts an allowance.
    public func expectSurvival(for duration: Duration) async throws {
        struct Survived: Error {}
        let app = self
        do {
            noteAwaited()
            defer { attachCrashLogs() }
            try await journal.wait(
                for: "\(name) to survive", within: duration, else: { _ in Survived() }
            ) { history -> Void? in
                let expected = "expected \(app.name) to survive for \(duration)"
                if history.isOver { throw app.fail("\(expected), but \(app.ending(history))") }
                guard let incident = history.incidents.last else { return nil }
                throw app.fail("\(expected), but an allowance ran out (\(incident.event))")
            }
        } catch is Survived {}
    }

    /// Terminates the app, and expects that its main loop has answered every ping in time.
    ///
    /// The error of the measurement is ``LaunchSettings/pingInterval``: a hang that begins just after an answer is
    /// noticed with the next ping. The failure names the crash log of the longest hang that ended by itself, if it was
    /// as long as ``LaunchSettings/hangReports``.
    ///
    /// - Throws: ``ExpectationFailure`` if the longest hang was longer or has not ended, no ping was answered, or the
    ///   watchdog killed the app.
    @discardableResult
    public func expectHangs(atMost limit: Duration) async throws -> Termination {
        let termination = try await terminate()
        if termination.kill != nil { throw fail("expected \(name) to hang at most \(limit), but \(termination)") }
        guard let longest = termination.longestHang else {
            throw fail(
                "expected \(name) to hang at most \(limit), but it did not answer a ping: does it use the Watchdog library?"
            )
        }
        guard longest <= limit else {
            let sentence = "expected \(name) to hang at most \(limit), but its main loop hung for \(longest)"
            let report = longestHangReport
            guard report == nil, longest < shortestReportedHang else { throw fail(sentence, hang: report) }
            let shortest = shortestReportedHang
            throw fail("\(sentence)\nA hang below \(shortest) has no crash log: lower LaunchSettings.hangReports")
        }
        return termination
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogWire

/// Tests of a client with a lifecycle.
extension ConformanceSession {
    /// The event on which a program blocks its main loop; the payload is the time in milliseconds.
    public static let blockingEvent = "conformance-block"
    /// The time for which the program blocks its main loop on request.
    private static let blockingTime = Duration.milliseconds(1_500)

    func tryLifecycle() throws(ConformanceError) {
        let requirements: [Requirement] = [.background, .repeatedState, .foreground, .events, .busy, .expiration]
        guard hasLifecycle != false else {
            return skip(requirements, because: "it does not take part in the lifecycle (no LIFECYCLE=1)")
        }
        guard let program = try launchReady(for: requirements) else { return }
        defer { finish(program) }
        try tryState(program, .background, id: 1, .background)
        try tryState(program, .background, id: 1, .repeatedState)
        try tryState(program, .foreground, id: 2, .foreground)
        try tryEvents(program)
        try tryState(program, .background, id: 3, nil)
        program.say("EXPIRE=1")
        let isOver = try program.wait(plan.answerLimit) { $0.openTasks.isEmpty }
        let isAlive = try ping(program, 3) != nil
        record(
            .expiration,
            isOver && isAlive
                ? .passed("")
                : .failed(
                    instead(
                        program, isOver ? "it no longer answers" : "tasks \(program.conduct.openTasks.sorted()) go on"))
        )
    }

    private func tryState(
        _ program: ClientUnderTest, _ state: SupervisorMessage.Visibility, id: UInt64, _ requirement: Requirement?
    ) throws(ConformanceError) {
        let count = program.conduct.heard.count
        var message = SupervisorMessage()
        message.transition = .init(to: state, id: id)
        if state == .background { message.backgroundTime = .seconds(30) }
        program.say(message)
        let isDone = try program.wait(plan.answerLimit) { $0.isStateDone(id, since: count) }
        guard let requirement else { return }
        record(
            requirement,
            isDone
                ? .passed("")
                : .failed(
                    instead(
                        program,
                        "no STATE_DONE=\(id) within \(TimeSpan.text(plan.answerLimit)) of STATE=\(state.rawValue)"))
        )
    }

    private func tryEvents(_ program: ClientUnderTest) throws(ConformanceError) {
        for id in UInt64(1)...5 { program.say(Self.event("conformance", id: id, payload: "event \(id)")) }
        guard try program.wait(plan.answerLimit, until: { $0.eventDone(5) != nil }) else {
            record(.events, .failed(instead(program, "no EVENT_DONE=5 within \(TimeSpan.text(plan.answerLimit))")))
            return skip([.busy], because: "it does not handle events")
        }
        record(.events, .passed(""))
        for id in UInt64(6)...25 { program.say(Self.event("conformance", id: id, payload: "")) }
        let answer = try ping(program, 4)
        record(.busy, answer.map { .passed($0.brief) } ?? .failed(instead(program, "no answer")))
    }

    func tryBlockedLoop() throws(ConformanceError) {
        guard hasLifecycle != false else {
            return skip([.blockedLoop], because: "it does not take part in the lifecycle (no LIFECYCLE=1)")
        }
        guard let program = try launchReady(for: [.blockedLoop]) else { return }
        defer { finish(program) }
        let start = Instant.now()
        let milliseconds = Self.blockingTime.nanoseconds / 1_000_000
        program.say(Self.event(Self.blockingEvent, id: 1, payload: "\(milliseconds)"))
        // The program has begun to block by the end of this wait, even if its loop is slow.
        _ = try program.wait(Self.blockingTime / 3) { $0.eventDone(1) != nil }
        program.say("PING=5")
        _ = try program.wait(Self.blockingTime + plan.answerLimit) { $0.eventDone(1) != nil && $0.answer(to: 5) != nil }
        guard let done = program.conduct.eventDone(1), done - start >= Self.blockingTime * 0.9 else {
            return record(
                .blockedLoop, .skipped("it does not block its main loop for the event '\(Self.blockingEvent)'"))
        }
        guard let answer = program.conduct.answer(to: 5) else {
            return record(.blockedLoop, .failed(instead(program, "it did not answer afterward either")))
        }
        // The answer and the end of the event may share a datagram.
        record(
            .blockedLoop,
            answer >= done || answer - start >= Self.blockingTime * 0.9
                ? .passed("")
                : .failed("it answered \((done - answer).brief) before its main loop came back: from another thread"))
    }

    func tryHangOnDemand() throws(ConformanceError) {
        let time = Duration.milliseconds(500)
        guard let program = try launchReady(for: [.hangOnDemand], .channelWithFaults) else { return }
        defer { finish(program) }
        guard program.conduct.hello?.allowsFaults == true else {
            return record(.hangOnDemand, .skipped("it does not send FAULTS=1 in a launch with WATCHDOG_FAULTS=1"))
        }
        let start = Instant.now()
        program.say("HANG_USEC=\(time.nanoseconds / 1_000)")
        program.say("PING=6")
        guard try program.wait(time + plan.answerLimit, until: { $0.answer(to: 6) != nil }),
            let answer = program.conduct.answer(to: 6)
        else { return record(.hangOnDemand, .failed(instead(program, "it did not answer afterward"))) }
        record(
            .hangOnDemand,
            answer - start >= time * 0.9
                ? .passed("") : .failed("it answered after \((answer - start).brief) of a hang of \(time.brief)"))
    }

    private static func event(_ kind: String, id: UInt64, payload: String) -> SupervisorMessage {
        var message = SupervisorMessage()
        message.event = .init(kind: kind, id: id, payload: payload)
        return message
    }
}

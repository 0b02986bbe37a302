// SPDX-License-Identifier: Apache-2.0

internal import WatchdogConversation

extension SupervisedApp {
    /// Sends the app to the background, and waits until it has entered it.
    public func background() async throws { try await move(.background, to: ["background"]) }

    /// Brings the app to the foreground, and waits until it has entered it.
    public func foreground() async throws { try await move(.foreground, to: ["foreground"]) }

    /// Suspends the app after giving it a chance to clean up, and waits until it is frozen.
    public func suspend() async throws { try await move(.suspend, to: ["suspended"]) }

    /// Lets a suspended app continue, and waits until it runs.
    public func resume() async throws { try await move(.resume, to: ["foreground", "background", "inactive"]) }

    /// Sends an event when the app is ready, without waiting for its handler: for an app that hangs in it.
    public func post(event kind: String, payload: String = "") async throws {
        try await ready()
        send(.event(kind: kind, payload: payload))
    }

    /// Sends an event when the app is ready, and waits until the main loop has handled it.
    ///
    /// - Returns: The time from sending to the end of the handler.
    /// - Throws: An ``ExpectationFailure``, also if nothing in the app listens for the event.
    @discardableResult
    public func send(event kind: String, payload: String = "") async throws -> Duration {
        try await ready()
        let start = journal.history.position
        send(.event(kind: kind, payload: payload))
        return try await wait(for: "done with event \(kind)") { history in
            for case .handled(kind, let after) in history.events[start...] { return .microseconds(after) }
            if history.events[start...].contains(.lost(event: kind)) {
                throw ExpectationFailure("nothing in the app listens for the event \(kind), which is lost")
            }
            if let refusal = history.refusal(after: start) { throw ExpectationFailure(refusal) }
            return nil
        }
    }

    /// Injects a fault now, and waits until it begins.
    ///
    /// ```swift
    /// try await app.inject("main-hang 5s")
    /// try await app.expectKill(.ateBadFood, during: .sceneUpdate)
    /// ```
    ///
    /// - Parameter fault: `stop SPAN`, `cpu N [for SPAN]`, `main-hang SPAN` or `kill-watchdogd`. Other faults need
    ///   preparation before the launch: ``LaunchSettings/faults``.
    /// - Throws: ``ExpectationFailure`` if the fault is refused, with the reason.
    public func inject(_ fault: String) async throws {
        let start = journal.history.position
        send(.fault(fault))
        try await wait(for: "in the fault \(fault)") { history -> Void? in
            for case .injected in history.events[start...] { return () }
            if let refusal = history.refusal(after: start) { throw ExpectationFailure(refusal) }
            return nil
        }
    }

    /// Requests the app's exit, and waits for it; watchdogd kills the app if it exhausts that allowance.
    @discardableResult
    public func terminate() async throws -> Termination {
        send(.terminate)
        return try await termination
    }

    /// Kills the app, and waits until no process of it remains.
    @discardableResult
    public func kill() async throws -> Termination {
        send(.kill)
        return try await termination
    }

    private func move(_ request: RemoteRequest, to states: Set<String>) async throws {
        try await ready()
        let start = journal.history.position
        if let state, states.contains(state) { return }
        send(request)
        try await wait(for: "in the \(request.line)") { history -> Void? in
            for case .state(let state) in history.events[start...] where states.contains(state) { return () }
            if let refusal = history.refusal(after: start) { throw ExpectationFailure(refusal) }
            return nil
        }
    }
}

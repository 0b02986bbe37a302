// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// The app's handler for the request to end, which comes over the channel, as SIGTERM, or as both.
final class Termination: Sendable {
    private struct State {
        var handler: (@MainActor @Sendable () -> Void)?
        var isListening = false
        var isRequested = false
    }

    /// Far more than necessary, and too short to notice during a launch.
    private static let installationLimit = DispatchTimeInterval.seconds(1)

    private let state = Locked(State())
    // SAFETY: Dispatch's objects may be used from any thread, only their Swift protocols do not say so.
    private nonisolated(unsafe) let signal = DispatchSource.makeSignalSource(
        signal: SIGTERM, queue: DispatchQueue(label: "org.watchdogd.termination"))

    func setHandler(_ handler: @escaping @MainActor @Sendable () -> Void) {
        state.withLock { $0.handler = handler }
    }

    /// Takes over SIGTERM if there is a handler; otherwise the app decides what the signal does.
    ///
    /// Waits until that is done: Dispatch installs a signal source on a thread of its own, and a SIGTERM that comes before
    /// would end the app.
    func listen() {
        let isFirst = state.withLock { state in
            defer { state.isListening = state.handler != nil }
            return state.handler != nil && !state.isListening
        }
        guard isFirst else { return }
        signal.setEventHandler { [weak self] in DispatchQueue.main.async { self?.request() } }
        let installed = DispatchSemaphore(value: 0)
        signal.setRegistrationHandler { installed.signal() }
        signal.activate()
        _ = installed.wait(timeout: .now() + Self.installationLimit)
    }

    /// Calls the handler the first time; to be called on the main queue.
    func request() {
        let handler = state.withLock { state -> (@MainActor @Sendable () -> Void)? in
            guard !state.isRequested, let handler = state.handler else { return nil }
            state.isRequested = true
            return handler
        }
        guard let handler else { return }
        MainActor.assumeIsolated { handler() }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// The app's handler for exit requests, which arrive over the channel, as SIGTERM, or as both.
final class Termination: Sendable {
    private struct State {
        var handler: (@MainActor @Sendable () -> Void)?
        var isListening = false
        var isRequested = false
    }

    /// Far longer than the installation takes, and still short enough for a launch.
    private static let installationLimit = DispatchTimeInterval.seconds(1)

    private let state = Locked(State())
    // SAFETY: Dispatch objects are thread-safe, but their Swift protocols are not marked Sendable.
    private nonisolated(unsafe) let signal = DispatchSource.makeSignalSource(
        signal: SIGTERM, queue: DispatchQueue(label: "org.watchdogd.termination"))

    func setHandler(_ handler: @escaping @MainActor @Sendable () -> Void) {
        state.withLock { $0.handler = handler }
    }

    /// Takes over SIGTERM if the app has set a handler; otherwise the signal keeps its disposition.
    ///
    /// Waits until the source is installed: Dispatch does that on another thread, and an earlier SIGTERM would end the
    /// app.
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

    /// Calls the handler once; further calls do nothing.
    ///
    /// Call it on the main queue.
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

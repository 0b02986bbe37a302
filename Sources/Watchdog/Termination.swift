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

    private let state = Locked(State())
    // SAFETY: Dispatch's objects may be used from any thread, only their Swift protocols do not say so.
    private nonisolated(unsafe) let signal = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)

    func setHandler(_ handler: @escaping @MainActor @Sendable () -> Void) {
        state.withLock { $0.handler = handler }
    }

    /// Takes over SIGTERM if there is a handler; what the signal does is the app's affair otherwise.
    func listen() {
        let isFirst = state.withLock { state in
            defer { state.isListening = state.handler != nil }
            return state.handler != nil && !state.isListening
        }
        guard isFirst else { return }
        signal.setEventHandler { [weak self] in self?.request() }
        signal.activate()
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

// SPDX-License-Identifier: Apache-2.0

/// No hang of the main thread: a task waits, which no watchdog of main loops sees.
@MainActor
func loadProfile() {
    Task {
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        print("HangMain: never")
    }
}

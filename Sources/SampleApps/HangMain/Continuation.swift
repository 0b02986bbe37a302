// SPDX-License-Identifier: Apache-2.0

/// Not a hang of the main thread: a task waits, which a watchdog of main loops cannot detect.
@MainActor
func loadProfile() {
    Task {
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        print("HangMain: never")
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Settings of individual apps: how long their reports are kept, and whether their stacks are.
final class ReportKeeping: Sendable {
    private struct App {
        var age: Duration?
        var keepsStacks = false
    }

    /// Keyed by the app's name as it appears in file names.
    private let apps = Mutex<[String: App]>([:])

    func age(of name: String) -> Duration? { apps.withLock { $0[name]?.age } }

    func keepsStacks(of app: String) -> Bool {
        apps.withLock { $0[ReportFileName.sanitised(app)]?.keepsStacks ?? false }
    }

    func set(age: Duration?, of app: String) {
        apps.withLock { $0[ReportFileName.sanitised(app), default: App()].age = age }
    }

    func set(keepsStacks: Bool, of app: String) {
        apps.withLock { $0[ReportFileName.sanitised(app), default: App()].keepsStacks = keepsStacks }
    }
}

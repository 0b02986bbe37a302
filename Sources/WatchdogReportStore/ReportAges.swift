// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How long the reports of individual apps are kept.
final class ReportAges: Sendable {
    /// Keyed by the app's name as it appears in file names.
    private let ages = Mutex<[String: Duration]>([:])

    subscript(name: String) -> Duration? { ages.withLock { $0[name] } }

    func set(_ age: Duration?, for app: String) {
        ages.withLock { $0[ReportFileName.sanitised(app)] = age }
    }
}

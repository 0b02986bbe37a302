// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How long the reports of single apps are kept.
final class ReportAges: Sendable {
    /// By the apps' names as they stand in the names of files.
    private let ages = Mutex<[String: Duration]>([:])

    subscript(name: String) -> Duration? { ages.withLock { $0[name] } }

    func set(_ age: Duration?, for app: String) {
        ages.withLock { $0[ReportFileName.sanitised(app)] = age }
    }
}

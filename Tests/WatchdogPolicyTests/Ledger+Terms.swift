// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

extension Ledger {
    enum Stage: Equatable {
        case idle
        case launching
        case running
        case ending(isRequested: Bool)
        case dying
        case over
    }

    enum Clock: Equatable {
        case none
        case counting
        case looking(until: Instant)
        case standing(left: Duration, isFound: Bool, nextLook: Instant)
        case over
    }

    /// The source of an examination.
    enum Asker: CaseIterable {
        case trigger
        case clock
        case probes
    }

    enum Gain {
        case refused(ExtensionRefusal)
        case gain(Duration)
        case needless
    }
}

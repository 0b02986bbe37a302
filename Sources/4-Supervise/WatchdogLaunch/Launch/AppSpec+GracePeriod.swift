// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogConfiguration
import WatchdogPolicy

extension AppSpec {
    /// Why a program that does not end when asked would leave no crash log; nil if it would, or if that is not known.
    ///
    /// - Parameter gracePeriod: the time from an engine's request to end the container to its kill.
    package func warning(ofGracePeriod gracePeriod: Duration?) -> String? {
        guard let gracePeriod, !leavesCrashLog(within: gracePeriod) else { return nil }
        let times = [gracePeriod, allowances.terminate, captureBudget].map(TimeSpan.text)
        return "the grace period (\(times[0])) is not longer than the terminate allowance (\(times[1])) and a capture "
            + "(\(times[2])) together: a program that does not end in time is killed without a crash log"
    }
}

extension ConfigurationListing {
    /// The apps whose `Terminate=` does not fit into a grace period; an observed service ends without watchdogd.
    package func warnings(ofGracePeriod gracePeriod: Duration?) -> [ConfigurationDiagnostic] {
        apps.compactMap { app in
            guard !app.name.isTemplate, let configuration = app.configuration, configuration.observed == nil,
                let warning = configuration.spec.warning(ofGracePeriod: gracePeriod)
            else { return nil }
            return app.diagnostic(.warning, about: .terminate, warning)
        }
    }
}
